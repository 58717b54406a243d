{{- /*
What the templates need to know of settings and cluster, as JSON: switches (the names that files/ knows), ports, where the ledger
is, how many replicas. What an installation can't be is refused here, in the words of `skoupa install`.
*/ -}}
{{- define "skoupa.facts" -}}
{{- $shipped := .Files.Get "files/shipped-settings.yaml" | fromYaml -}}
{{- $text := include "skoupa.settings" . -}}
{{- $settings := $text | fromYaml -}}
{{- $ttl := mergeOverwrite (deepCopy $shipped.ttl) (dig "ttl" dict $settings) -}}
{{- $policies := dig "policies" dict $settings -}}
{{- $namespaces := dig "namespaces" list $settings | uniq -}}
{{- $namespaced := not (empty $namespaces) -}}
{{- $limits := or $ttl.minimum $ttl.maximum $ttl.notAfter -}}
{{- $switches := dict
    "ttl" (dig "features" "ttl" $shipped.features.ttl $settings)
    "policies" (dig "features" "policies" $shipped.features.policies $settings)
    "retention" (dig "features" "retention" $shipped.features.retention $settings)
    "alive" (dig "features" "alive" $shipped.features.alive $settings)
    "tenants" (dig "features" "tenants" $shipped.features.tenants $settings)
    "tenantNames" (dig "tenants" "byName" $shipped.tenants.byName $settings)
    "tenantLabel" (not (empty (dig "tenants" "label" $shipped.tenants.label $settings)))
    "enforce" (eq $settings.mode "enforce")
    "history" (ne $settings.api.address "none")
    "webhook" (not (has (dig "webhook" "address" "" $settings) (list "" "none")))
    "namespaced" $namespaced
    "kyvernoTtl" (dig "compat" "kyvernoTtl" $shipped.compat.kyvernoTtl $settings)
    "refuse" $ttl.refuse
    "ttlDeleteRight" $ttl.requireDeleteRight
    "policyDeleteRight" (dig "requireDeleteRight" $shipped.policies.requireDeleteRight $policies)
    "http" (dig "allowHttpInNamespacedPolicies" $shipped.policies.allowHttpInNamespacedPolicies $policies)
    "secrets" (dig "allowSecretsInNamespacedPolicies" $shipped.policies.allowSecretsInNamespacedPolicies $policies)
-}}
{{- if and $switches.tenants $namespaced -}}
  {{- fail "features.tenants is for a whole cluster, and only some namespaces are looked after here: leave namespaces empty, or features.tenants out" -}}
{{- end -}}
{{- $limited := and $switches.ttl (not (empty $limits)) -}}
{{- $_ := set $switches "limits" (or $limited (not (empty (include "skoupa.hadLimits" .)))) -}}
{{- $dsn := $settings.ledger.dsn -}}
{{- $ledger := "volume" -}}
{{- if eq $dsn "none" -}}{{- $ledger = "none" -}}
{{- else if include "skoupa.isShared" $dsn -}}{{- $ledger = "shared" -}}
{{- end -}}
{{- $replicas := and (ne $ledger "volume") $switches.enforce | ternary 2 1 -}}
{{- if not (kindIs "invalid" .Values.replicas) -}}
  {{- $replicas = int .Values.replicas -}}
  {{- if and (gt $replicas 1) (eq $ledger "volume") -}}
    {{- fail (printf "%d replicas can't share a ledger in SQLite: leave replicas out, or set settings.ledger.dsn to postgresql://… (or to none: no history, no trash)" $replicas) -}}
  {{- end -}}
{{- end -}}
{{- range .Values.extraEnv -}}
  {{- if hasPrefix "SKOUPA_" .name -}}
    {{- fail (printf "extraEnv has %s, and what it says would not be known to roles and admission policies: write it under settings (a password of the ledger into the Secret %s)" .name $.Values.secrets.ledger.name) -}}
  {{- end -}}
{{- end -}}
{{- if hasKey (.Values.podAnnotations | default dict) "skoupa.dev/settings-digest" -}}
  {{- fail "podAnnotations has skoupa.dev/settings-digest, by which the Pod is renewed when its settings change: leave it out" -}}
{{- end -}}
{{- dict
    "settings" (printf "%s\n" $text)
    "switches" $switches
    "limits" (dict "minimum" ($limited | ternary ($ttl.minimum | default "") "") "maximum" ($limited | ternary ($ttl.maximum | default "") "") "notAfter" ($limited | ternary ($ttl.notAfter | default "") ""))
    "namespaces" $namespaces
    "lease" (dig "lease" "name" $shipped.lease.name $settings)
    "separator" (dig "tenants" "separator" $shipped.tenants.separator $settings)
    "ports" (include "skoupa.ports" (list $settings $shipped $switches) | fromJsonArray)
    "ledger" $ledger
    "replicas" $replicas
    "keyEnv" (dig "trash" "keyEnv" "" $settings)
    "keyFile" (include "skoupa.keyFile" (dig "trash" dict $settings))
  | toJson -}}
{{- end -}}

{{- /*
Something where the policy of the limits is in the cluster already: it then stays, with no limits. An API server that lost its last
policy with a ConfigMap may refuse every label of a later one (kubernetes/kubernetes#130887).
*/ -}}
{{- define "skoupa.hadLimits" -}}
{{- if not .Values.settings.namespaces -}}
{{- $there := lookup "admissionregistration.k8s.io/v1" "ValidatingAdmissionPolicyBinding" "" "skoupa-ttl-limits" -}}
{{- if eq (dig "metadata" "labels" "app.kubernetes.io/instance" "" $there) .Release.Namespace }}yes{{ end -}}
{{- end -}}
{{- end -}}

{{- define "skoupa.ports" -}}
{{- $settings := index . 0 -}}{{- $shipped := index . 1 -}}{{- $switches := index . 2 -}}
{{- $ports := list -}}
{{- $address := dig "address" $shipped.address $settings -}}
{{- if $address -}}
  {{- $port := include "skoupa.port" (dict "address" $address "setting" "address" "asked" "probes" "otherwise" "empty") -}}
  {{- $ports = append $ports (dict "name" "http" "port" (int $port)) -}}
{{- end -}}
{{- if $switches.history -}}
  {{- $port := include "skoupa.port" (dict "address" $settings.api.address "setting" "api.address" "asked" "the API server" "otherwise" "none") -}}
  {{- $ports = append $ports (dict "name" "api" "port" (int $port)) -}}
{{- end -}}
{{- if and (or $switches.policies $switches.retention) $switches.enforce $switches.webhook (not $switches.namespaced) -}}
  {{- $port := include "skoupa.port" (dict "address" $settings.webhook.address "setting" "webhook.address" "asked" "the API server" "otherwise" "none") -}}
  {{- $ports = append $ports (dict "name" "webhook" "port" (int $port)) -}}
{{- end -}}
{{- $numbers := list -}}{{- $written := list -}}
{{- range $ports -}}
  {{- $numbers = append $numbers .port -}}
  {{- $written = append $written (printf "%s %d" .name .port) -}}
{{- end -}}
{{- if lt (len (uniq $numbers)) (len $numbers) -}}
  {{- fail (printf "address, api.address and webhook.address share a port (%s): give each its own" (join ", " $written)) -}}
{{- end -}}
{{- toJson $ports -}}
{{- end -}}

{{- define "skoupa.port" -}}
{{- $port := regexFind "[0-9]+$" .address -}}
{{- if not (and (regexMatch ":0*[1-9][0-9]*$" .address) (lt (int $port) 65536)) -}}
  {{- fail (printf "%s '%s' has no port: write it as 0.0.0.0:8080" .setting .address) -}}
{{- end -}}
{{- $host := trimSuffix (printf ":%s" $port) .address -}}
{{- if has (trimAll "[]" $host) (list "127.0.0.1" "::1" "localhost") -}}
  {{- fail (printf "%s '%s' can't be reached by %s from outside the pod: write 0.0.0.0:%s, or make %s %s to serve nothing" .setting .address .asked $port .setting .otherwise) -}}
{{- end -}}
{{- int $port -}}
{{- end -}}

{{- /* The variable wins over the file. */ -}}
{{- define "skoupa.keyFile" -}}
{{- $file := .keyFile | default "" -}}
{{- if and $file (not .keyEnv) -}}
  {{- $parts := splitList "/" $file -}}
  {{- $own := and (regexMatch "^(?:/[^/]+){2,}$" $file) (not (has "." $parts)) (not (has ".." $parts)) -}}
  {{- range list "/etc/skoupa" "/var/lib/skoupa" -}}
    {{- if or (hasPrefix (printf "%s/" .) $file) (hasPrefix (printf "%s/" (dir $file)) .) -}}{{- $own = false -}}{{- end -}}
  {{- end -}}
  {{- if or (not $own) (has (dir $file) (list "/bin" "/dev" "/home" "/lib" "/lib64" "/opt" "/proc" "/root" "/run" "/sbin" "/sys" "/tmp" "/usr")) -}}
    {{- fail (printf "trash.keyFile %s can't be a file of its own in a pod: write trash.keyFile: /etc/skoupa-trash/keys" $file) -}}
  {{- end -}}
  {{- $file -}}
{{- end -}}
{{- end -}}
