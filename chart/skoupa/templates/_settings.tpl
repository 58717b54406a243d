{{- /*
The settings as they go into the ConfigMap: values.settings, and what an installation fills in where they say nothing else, as
`skoupa install` does. Also the checks of it that need no more than the settings themselves.
*/ -}}
{{- define "skoupa.settings" -}}
{{- $shipped := .Files.Get "files/shipped-settings.yaml" | fromYaml -}}
{{- $settings := omit (deepCopy .Values.settings) "apiVersion" "kind" -}}
{{- $mode := dig "mode" $shipped.mode $settings -}}
{{- if kindIs "bool" $mode -}}
  {{- fail "settings.mode: it is true or false: write observe or enforce" -}}
{{- else if not (has $mode (list "observe" "enforce")) -}}
  {{- fail (printf "settings.mode: '%v' is not known: write observe or enforce" $mode) -}}
{{- end -}}
{{- $_ := set $settings "mode" $mode -}}
{{- $home := dig "lease" "namespace" .Release.Namespace $settings -}}
{{- if ne $home .Release.Namespace -}}
  {{- fail (printf "settings.lease.namespace is %s and the release is in %s: leave it out, or run helm with --namespace %s" $home .Release.Namespace $home) -}}
{{- end -}}
{{- $lease := set (dig "lease" dict $settings) "namespace" .Release.Namespace -}}
{{- $_ := set $settings "lease" $lease -}}
{{- $seconds := dig "seconds" $shipped.lease.seconds $lease -}}
{{- $retry := dig "retrySeconds" $shipped.lease.retrySeconds $lease -}}
{{- if ge (float64 $retry) (float64 $seconds) -}}
  {{- fail (printf "settings.lease.retrySeconds (%v) is not less than lease.seconds (%v), so a leader would lose its Lease before it renews it: write at most a fifth" $retry $seconds) -}}
{{- end -}}
{{- $dsn := dig "ledger" "dsn" $shipped.ledger.dsn $settings -}}
{{- if and (not (include "skoupa.isShared" $dsn)) (regexMatch `(?i)://|\b(?:host|hostaddr|dbname|user|password|passfile|service)\s*=` $dsn) -}}
  {{- fail "ledger.dsn is no address that a ledger can be at: write a path (SQLite), postgresql://USER@HOST/DATABASE in small letters and without a space before it, or none" -}}
{{- end -}}
{{- if eq $dsn $shipped.ledger.dsn -}}
  {{- $_ := set $settings "ledger" (set (dig "ledger" dict $settings) "dsn" "/var/lib/skoupa/ledger.db") -}}
{{- else if include "skoupa.isShared" $dsn -}}
  {{- include "skoupa.refusePassword" (list $dsn .Release.Namespace .Values.secrets.ledger) -}}
  {{- if not (dig "clusterName" "" $settings) -}}
    {{- fail "clusterName is needed where the ledger is in PostgreSQL: give this cluster a name that no other cluster in that database has, such as settings.clusterName: prod-eu" -}}
  {{- end -}}
{{- end -}}
{{- if not (dig "api" "address" "" $settings) -}}
  {{- $_ := set $settings "api" (set (dig "api" dict $settings) "address" "0.0.0.0:8443") -}}
{{- end -}}
{{- $policies := or (dig "features" "policies" $shipped.features.policies $settings) (dig "features" "retention" $shipped.features.retention $settings) -}}
{{- $reviews := and $policies (not (dig "namespaces" list $settings)) -}}
{{- if and $reviews (not (dig "webhook" "address" "" $settings)) -}}
  {{- $_ := set $settings "webhook" (set (dig "webhook" dict $settings) "address" "0.0.0.0:9443") -}}
{{- end -}}
{{- include "skoupa.refuseSecretsOfNotices" (dig "notices" "routes" list $settings) -}}
{{- $grammar := .Files.Get "files/grammar.yaml" | fromYaml -}}
{{- include "skoupa.refuseLimits" (list (dig "ttl" dict $settings) $grammar.time) -}}
{{- toYaml $settings -}}
{{- end -}}

{{- /* Whether several replicas may use the ledger at once: something, or nothing. */ -}}
{{- define "skoupa.isShared" -}}
{{- if or (hasPrefix "postgresql://" .) (hasPrefix "postgres://" .) }}yes{{ end -}}
{{- end -}}

{{- /* In an address that does not look as usual a password can be anywhere. */ -}}
{{- define "skoupa.refusePassword" -}}
{{- $dsn := index . 0 -}}
{{- $host := `(?:\[[0-9a-fA-F:.]+\]|[\w.-]*)(?::\d+)?` -}}
{{- $usual := printf `^postgres(?:ql)?://(?:[^@/?#\s]*@)?%s(?:,%s)*(?:/[^@?#\s]*)?(?:\?[^@#\s]*)?$` $host $host -}}
{{- $found := not (regexMatch $usual $dsn) -}}
{{- if regexMatch `://[^@/?#]*:[^@/?#]*@` $dsn -}}{{- $found = true -}}{{- end -}}
{{- range splitList "&" (regexFind `\?.*` $dsn | trimPrefix "?") -}}
  {{- $option := first (splitList "=" .) -}}
  {{- if or (contains "password" (lower $option)) (contains "%" $option) -}}{{- $found = true -}}{{- end -}}
{{- end -}}
{{- if $found -}}
  {{- $secret := index . 2 -}}
  {{- fail (printf "ledger.dsn has a password, and the settings become a ConfigMap that many can read: leave the password out here and create it as a Secret: kubectl create secret generic %s -n %s --from-literal=%s=postgresql://USER:PASSWORD@HOST/DATABASE" $secret.name (index . 1) $secret.key) -}}
{{- end -}}
{{- end -}}

{{- /* The rest of a route is looked at by the controller; what is a secret must not get as far as a ConfigMap, nor into a message. */ -}}
{{- define "skoupa.refuseSecretsOfNotices" -}}
{{- range . -}}
  {{- $where := printf "notices.routes, %s" .name -}}
  {{- if .url -}}
    {{- if eq (.type | default "") "slack" -}}
      {{- fail (printf "%s: the URL of a Slack webhook is a secret, and the settings are not: put it into a Secret and name it with `urlFrom: {file: /PATH}` or `urlFrom: {env: VARIABLE}`, and bring it with extraEnv or extraVolumes" $where) -}}
    {{- else if not (regexMatch `^(?i:https?)://[^/?#\s\\]+(?:[/?#]\S*)?$` .url) -}}
      {{- fail (printf "%s: url is no http or https URL: write it like https://HOST/PATH" $where) -}}
    {{- else if regexMatch `^[^/]*//[^/?#]*@` .url -}}
      {{- fail (printf "%s: url has a password in it, and the settings are no secret: use urlFrom, or a header Authorization with valueFrom" $where) -}}
    {{- end -}}
  {{- end -}}
{{- end -}}
{{- end -}}

{{- /* A limit that is not understood would refuse every label. */ -}}
{{- define "skoupa.refuseLimits" -}}
{{- $time := index . 1 -}}
{{- with index . 0 -}}
{{- if kindIs "string" .notAfter -}}
  {{- if not (regexMatch (printf "^(?:%s)$" $time) (replace ":" "" .notAfter)) -}}
    {{- fail (printf "ttl.notAfter: '%s' is no date: write one such as 2026-12-31 or 2026-12-31T180000Z" .notAfter) -}}
  {{- end -}}
{{- end -}}
{{- if and .minimum .maximum -}}
  {{- if gt (include "skoupa.seconds" .minimum | int64) (include "skoupa.seconds" .maximum | int64) -}}
    {{- fail (printf "ttl.minimum (%s) is more than ttl.maximum (%s), so every label would be refused: write the shorter time as ttl.minimum" .minimum .maximum) -}}
  {{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{- define "skoupa.seconds" -}}
{{- $total := 0 -}}
{{- $sizes := dict "w" 604800 "d" 86400 "h" 3600 "m" 60 "s" 1 -}}
{{- range regexFindAll "[0-9]+[wdhms]" . -1 -}}
  {{- $unit := substr (int (sub (len .) 1)) (len .) . -}}
  {{- $total = add $total (mul (trimSuffix $unit . | atoi) (get $sizes $unit)) -}}
{{- end -}}
{{- $total -}}
{{- end -}}
