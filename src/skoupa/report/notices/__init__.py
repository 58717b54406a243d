"""notices/: tells people outside of the cluster what happened in it: Slack and its like, and webhooks.

`Notifier.tell` takes a Notice and returns at once; what was told within an interval leaves as one message for each
route. Nothing here decides, waits for a person, or stands in the way of a deletion.
"""

from skoupa.report.notices.notice import Notice, about
from skoupa.report.notices.notifier import Notifier, notifier_of
from skoupa.report.notices.routes import Route, open_routes

__all__ = ["Notice", "Notifier", "Route", "about", "notifier_of", "open_routes"]
