"""`skoupa dashboard`: the pages of the controller, on one's own machine and with one's own rights."""
