#!/bin/sh
# Destroys a cluster in CI: tells everybody in it first, and destroys the infrastructure however that ended.
# Returns the first code that is not 0, so that what is left behind does not pass for success.
#
#   DESTROY='terraform destroy -auto-approve' examples/ci-destroy.sh
#
# TIMEOUT (30m) is how long participants have, REPORT (alive-report.json) where the report goes.
set -u

: "${DESTROY:?write the command that destroys the infrastructure}"

skoupa alive delete --yes --wait --timeout "${TIMEOUT:-30m}" --report "${REPORT:-alive-report.json}"
told=$?
if [ "$told" -ne 0 ]; then
    echo "ci-destroy: not everybody cleaned up (code $told, see ${REPORT:-alive-report.json}); destroying all the same" >&2
fi

sh -c "$DESTROY"
destroyed=$?

if [ "$told" -ne 0 ]; then
    exit "$told"
fi
exit "$destroyed"
