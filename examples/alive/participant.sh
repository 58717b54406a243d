#!/bin/sh
# Takes part in Alive with nothing but curl: joins, shows that it lives, waits, cleans up, and takes off its own finalizer.
#
# SERVER, CA and TOKEN say where the API server is and who we are; FINALIZER, IDENTITY, NAMESPACE and LEASE what we are called;
# CLEANUP is the command that removes what we own elsewhere: it is run again until it succeeds.
set -u

alive="$SERVER/apis/skoupa.dev/v1alpha1/alives/cluster"
manager=$(printf '%s' "$FINALIZER" | tr '/' '-')

ask() {
    curl --silent --show-error --fail-with-body --max-time 30 --cacert "$CA" -H "Authorization: Bearer $TOKEN" "$@"
}

apply() {
    ask -X PATCH -H 'Content-Type: application/apply-patch+yaml' --data-binary @- "$1?fieldManager=$manager&force=true"
}

# Server-side apply: what we leave out the next time goes, and nobody else's is touched.
entry() {
    cat <<EOF
apiVersion: skoupa.dev/v1alpha1
kind: Alive
metadata:
  name: cluster
  $1
spec:
  participants:
    - finalizer: $FINALIZER
      identity: $IDENTITY
      lease: {namespace: $NAMESPACE, name: $LEASE}
EOF
}

beat() {
    apply "$SERVER/apis/coordination.k8s.io/v1/namespaces/$NAMESPACE/leases/$LEASE" >/dev/null <<EOF
apiVersion: coordination.k8s.io/v1
kind: Lease
metadata:
  name: $LEASE
  namespace: $NAMESPACE
  labels: {skoupa.dev/participant: "true"}
  annotations: {skoupa.dev/state: "$1", skoupa.dev/message: "$2", skoupa.dev/remaining: "$3"}
spec:
  holderIdentity: $FINALIZER
  leaseDurationSeconds: 40
  renewTime: "$(date -u +%Y-%m-%dT%H:%M:%S.000000Z)"
EOF
}

beat "" "" 0
until entry "finalizers: [$FINALIZER]" | apply "$alive" >/dev/null; do
    sleep "${PAUSE:-5}"
done
echo joined

# An answer without a deletionTimestamp means that the cluster lives; no answer means nothing.
until ask "$alive" | grep -q '"deletionTimestamp"'; do
    beat "" "" 0
    sleep "${PAUSE:-5}"
done

until sh -c "$CLEANUP"; do
    beat failed "what we own could not be removed" 1
    sleep "${PAUSE:-5}"
done
beat "" "" 0
entry "" | apply "$alive" >/dev/null
echo done
