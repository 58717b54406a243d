{{- /* Labels of every object of the release: `skoupa uninstall --check` finds them by the first, of which installation by the second. */ -}}
{{- define "skoupa.labels" -}}
app.kubernetes.io/part-of: skoupa
app.kubernetes.io/instance: {{ .Release.Namespace }}
{{ include "skoupa.helmLabels" . }}
{{- end -}}

{{- define "skoupa.helmLabels" -}}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- end -}}

{{- define "skoupa.selector" -}}
app.kubernetes.io/name: skoupa
app.kubernetes.io/component: controller
{{- end -}}

{{- /* Which of the switches `of` are on, as files/ names that case. */ -}}
{{- define "skoupa.case" -}}
{{- $on := list -}}
{{- $switches := .switches -}}
{{- range .of -}}
  {{- if index $switches . -}}{{- $on = append $on . -}}{{- end -}}
{{- end -}}
{{- join " " $on | default "none" -}}
{{- end -}}

{{- /*
The objects of a file of pieces as they are in these circumstances: `root`, `facts`, `file`, and `watched`, the namespace that is
meant where the file is about one of several.
*/ -}}
{{- define "skoupa.pieces" -}}
{{- $root := .root -}}{{- $facts := .facts -}}
{{- $text := $root.Files.Get .file | replace "the-namespace-of-the-release" $root.Release.Namespace | replace "the-name-of-the-lease" $facts.lease | replace "the-separator-of-tenants" $facts.separator -}}
{{- if .watched -}}{{- $text = replace "a-namespace-that-is-watched" .watched $text -}}{{- end -}}
{{- range $piece := (fromYaml $text).pieces -}}
  {{- $there := true -}}
  {{- with $piece.only -}}
    {{- $there = has (include "skoupa.case" (dict "of" .of "switches" $facts.switches)) .when -}}
  {{- end -}}
  {{- if $there -}}
    {{- $object := $piece.object -}}
    {{- range $piece.varying -}}
      {{- $case := include "skoupa.case" (dict "of" .of "switches" $facts.switches) -}}
      {{- if hasKey .is $case -}}
        {{- $place := $object -}}
        {{- range initial .at -}}
          {{- if not (hasKey $place .) -}}{{- $_ := set $place . dict -}}{{- end -}}
          {{- $place = index $place . -}}
        {{- end -}}
        {{- $_ := set $place (last .at) (index .is $case) -}}
      {{- end -}}
    {{- end -}}
    {{- $_ := set $object.metadata "labels" (merge (include "skoupa.labels" $root | fromYaml) $object.metadata.labels) -}}
    {{- include "skoupa.complete" (dict "root" $root "facts" $facts "object" $object) }}
---
{{ toYaml $object }}
  {{- end -}}
{{- end -}}
{{- end -}}

{{- /* What the values say of an object of files/: the kinds that may go, the limits of the label. */ -}}
{{- define "skoupa.complete" -}}
{{- $object := .object -}}
{{- $name := $object.metadata.name -}}
{{- $grants := or (and (eq $object.kind "ClusterRole") (eq $name "skoupa-delete-shipped")) (and (eq $object.kind "Role") (eq $name "skoupa-delete")) -}}
{{- if and $grants $object.rules -}}
  {{- $_ := set $object "rules" (include "skoupa.deleteRules" (list .root (eq $object.kind "Role") (first $object.rules).verbs) | fromYamlArray) -}}
{{- else if and (eq $object.kind "ConfigMap") (eq $name "skoupa-ttl-limits") -}}
  {{- $_ := set $object "data" .facts.limits -}}
{{- end -}}
{{- end -}}

{{- /* One rule for each group. A Role can't grant what lies in no namespace. */ -}}
{{- define "skoupa.deleteRules" -}}
{{- $root := index . 0 -}}{{- $inNamespaces := index . 1 -}}{{- $verbs := index . 2 -}}
{{- $kinds := $root.Files.Get "files/kinds.yaml" | fromYaml -}}
{{- $chosen := list -}}
{{- range $root.Values.deletableKinds -}}
  {{- if eq . $kinds.words.shipped -}}{{- $chosen = concat $chosen $kinds.shipped -}}
  {{- else -}}
    {{- $name := lower . | trim -}}
    {{- $chosen = append $chosen (get $kinds.spellings $name | default $name) -}}
  {{- end -}}
{{- end -}}
{{- $rows := list -}}
{{- if has $kinds.words.all $chosen -}}
  {{- $rows = list "* *" -}}
{{- else -}}
  {{- range $chosen -}}
    {{- $known := get $kinds.known . -}}
    {{- if $known -}}
      {{- if or $known.namespaced (not $inNamespaces) -}}{{- $rows = append $rows (printf "%s %s" $known.group $known.plural) -}}{{- end -}}
    {{- else if regexMatch "^[a-z0-9-]+[.][a-z0-9.-]+$" . -}}
      {{- $plural := first (splitList "." .) -}}
      {{- $rows = append $rows (printf "%s %s" (trimPrefix (printf "%s." $plural) .) $plural) -}}
    {{- else -}}
      {{- fail (printf "deletableKinds: \"%s\" is no built-in kind: `kubectl api-resources` lists the kinds; a custom kind is PLURAL.GROUP" .) -}}
    {{- end -}}
  {{- end -}}
{{- end -}}
{{- $groups := dict -}}
{{- range $rows | uniq | sortAlpha -}}
  {{- $row := splitList " " . -}}
  {{- $group := first $row -}}
  {{- $_ := set $groups $group (append (get $groups $group | default list) (last $row)) -}}
{{- end -}}
{{- $rules := list -}}
{{- range $group := keys $groups | sortAlpha -}}
  {{- $rules = append $rules (dict "apiGroups" (list $group) "resources" (get $groups $group) "verbs" $verbs) -}}
{{- end -}}
{{- toYaml $rules -}}
{{- end -}}

{{- /* Bindings of an earlier `skoupa install` here that deny, and are no part of this release. */ -}}
{{- define "skoupa.stayed" -}}
{{- $root := . -}}
{{- $stayed := list -}}
{{- range (.Files.Get "files/admission.yaml" | fromYaml).pieces -}}
  {{- $name := .object.metadata.name -}}
  {{- if hasSuffix "-deny" $name -}}
    {{- $there := lookup "admissionregistration.k8s.io/v1" "ValidatingAdmissionPolicyBinding" "" $name -}}
    {{- $labels := dig "metadata" "labels" dict $there -}}
    {{- $ours := eq (get $labels "app.kubernetes.io/instance") $root.Release.Namespace -}}
    {{- if and $ours (ne (get $labels "app.kubernetes.io/managed-by") $root.Release.Service) -}}
      {{- $stayed = append $stayed $name -}}
    {{- end -}}
  {{- end -}}
{{- end -}}
{{- sortAlpha $stayed | join " " -}}
{{- end -}}
