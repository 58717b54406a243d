"""Commands that bring back or erase what is in the trash: `restore`, `trash`."""
