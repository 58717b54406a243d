#!/bin/sh
# Takes part in Alive with nothing but curl: joins, shows that it lives, waits, cleans up, and takes off its own finalizer.
#
# SERVER, CA and TOKEN_FILE say where the API server is and who we are: in a Pod ca.crt and token in
# /var/run/secrets/kubernetes.io/serviceaccount. The token is read for each request, since it is renewed; a TOKEN that does not end will do
# too. FINALIZER, IDENTITY, NAMESPACE and LEASE are what we are called. CLEANUP is the command that removes what we own elsewhere: it is run
# again until it succeeds, and finds in the file that ALIVE names what Alive says now (JSON): what spec.preserve means stays, and everything
# where spec.deletionPolicy is not Signal. There are signs of life between its runs, so LASTS (40) is more seconds than one of them takes.
set -u

alive="$SERVER/apis/skoupa.dev/v1alpha1/alives/cluster"
manager=$(printf '%s' "$FINALIZER" | tr '/' '-')
ALIVE=$(mktemp)
export ALIVE
trap 'rm -f "$ALIVE"' EXIT
trap 'exit 1' INT TERM

ask() {
    curl --silent --show-error --fail-with-body --max-time 30 --cacert "$CA" -H "Authorization: Bearer ${TOKEN:-$(cat "$TOKEN_FILE")}" "$@"
}

apply() {
    ask -X PATCH -H 'Content-Type: application/apply-patch+yaml' --data-binary @- "$1?fieldManager=$manager&force=true"
}

# Its metadata alone and on one line: a label or an annotation that is called deletionTimestamp must not be taken for one.
look() {
    ask -H 'Accept: application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1' "$alive?pretty=false"
}

# What it says now, for CLEANUP; where that can't be read, what it said last stays there.
wanted() {
    said=$(ask "$alive?pretty=false") && printf '%s' "$said" >"$ALIVE"
}

# A text of the metadata itself; what is in the braces of labels and annotations comes after it.
field() {
    printf '%s' "$found" | sed -n "s/.*\"metadata\":{[^{}]*\"$1\":\"\([^\"]*\)\".*/\1/p"
}

finalizers() {
    printf '%s' "$found" | sed -n 's/.*"finalizers":\[\([^]]*\)\].*/\1/p' | tr ',' '\n'
}

on_it() {
    finalizers | grep -qxF "\"$FINALIZER\""
}

# With the uid, so that nothing is made where there is none.
join() {
    apply "$alive" <<END
apiVersion: skoupa.dev/v1alpha1
kind: Alive
metadata:
  name: cluster
  uid: $(field uid)
  finalizers: [$FINALIZER]
spec:
  participants:
    - finalizer: $FINALIZER
      identity: $IDENTITY
      lease: {namespace: $NAMESPACE, name: $LEASE}
END
}

# Takes off our finalizer and no other, from the state that was read. It fails as long as that was not done.
leave() {
    if ! found=$(look); then
        printf '%s' "$found" | grep -q '"reason":"NotFound".*"name":"cluster"'
        return
    fi
    if ! on_it || [ "$(field uid)" != "$joined" ]; then
        return 0
    fi
    left=$(finalizers | grep -vxF "\"$FINALIZER\"" | tr '\n' ',')
    printf '{"metadata":{"resourceVersion":"%s","finalizers":[%s]}}' "$(field resourceVersion)" "${left%,}" |
        ask -X PATCH -H 'Content-Type: application/merge-patch+json' --data-binary @- "$alive" >/dev/null
}

beat() {
    apply "$SERVER/apis/coordination.k8s.io/v1/namespaces/$NAMESPACE/leases/$LEASE" >/dev/null <<END
apiVersion: coordination.k8s.io/v1
kind: Lease
metadata:
  name: $LEASE
  namespace: $NAMESPACE
  labels: {skoupa.dev/participant: "true"}
  annotations: {skoupa.dev/state: "$1", skoupa.dev/message: "$2", skoupa.dev/remaining: "$3"}
spec:
  holderIdentity: $FINALIZER
  leaseDurationSeconds: ${LASTS:-40}
  renewTime: "$(date -u +%Y-%m-%dT%H:%M:%S.000000Z)"
END
}

# An answer with a deletionTimestamp means that the cluster is about to die, one without that it lives; no answer, and no Alive, mean
# nothing. One that was made anew is joined again.
joined=""
while :; do
    beat "" "" 0
    if wanted && found=$(look); then
        if [ -n "$(field deletionTimestamp)" ]; then
            if on_it; then
                joined=$(field uid)
            else
                echo "the deletion has begun without us, and nobody waits for us: cleaning up all the same" >&2
            fi
            break
        elif on_it && [ "$joined" = "$(field uid)" ]; then
            :
        elif said=$(join); then
            joined=$(field uid)
            echo joined
        else
            printf '%s\n' "$said" >&2
        fi
    fi
    sleep "${PAUSE:-5}"
done

until sh -c "$CLEANUP"; do
    beat failed "what we own could not be removed" 1
    sleep "${PAUSE:-5}"
    wanted
done
beat "" "" 0
until leave; do
    sleep "${PAUSE:-5}"
done
echo done
