#!/bin/sh
# Destroys a cluster in CI: tells everybody in it first, and destroys the infrastructure however that ended.
# Returns the first code that is not 0, so that what is left behind does not pass for success.
#
#   DESTROY='terraform destroy -auto-approve' examples/ci-destroy.sh
#
# TIMEOUT (30m) is how long participants have, REPORT (alive-report.json) where the report goes; what else is written behind the command
# goes to `skoupa alive delete`. Who interrupts it while it waits (Ctrl-C, a job that is cancelled) has nothing destroyed: it returns 7.
set -u
report=${REPORT:-alive-report.json}

: "${DESTROY:?write the command that destroys the infrastructure}"

interrupted() {
    echo "ci-destroy: interrupted; the infrastructure was not touched, run it again to go on" >&2
    exit 7
}
trap interrupted INT TERM

# The report of an earlier run says nothing about this one.
rm -f "$report"
skoupa alive delete --yes --wait --timeout "${TIMEOUT:-30m}" --report "$report" "$@"
told=$?
if [ "$told" -eq 7 ]; then
    interrupted
fi
trap - INT TERM
if [ "$told" -ne 0 ]; then
    echo "ci-destroy: not everybody cleaned up (code $told, see above and $report); destroying all the same" >&2
fi

sh -c "$DESTROY"
destroyed=$?

if [ "$told" -ne 0 ]; then
    exit "$told"
fi
exit "$destroyed"
