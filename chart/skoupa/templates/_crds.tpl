{{- /*
How a definition stands to this release, as JSON by name: "ours" comes with it, "there" is used as it is (somebody else brought it,
or another release, or `skoupa install`), "missing" does not come. They are templates and not in crds/ because Helm would neither bring
them up to date nor leave them out where only some namespaces are meant.
*/ -}}
{{- define "skoupa.crds" -}}
{{- $facts := include "skoupa.facts" . | fromJson -}}
{{- $found := dict -}}
{{- if not $facts.switches.namespaced -}}
  {{- /* Without a cluster (helm template) nobody knows what is there. */ -}}
  {{- $connected := not (empty (lookup "v1" "Namespace" "" "kube-system")) -}}
  {{- range $path, $_ := .Files.Glob "files/crds/*/*.yaml" -}}
    {{- $name := base $path | trimSuffix ".yaml" -}}
    {{- $own := eq (dir $path | base) "own" -}}
    {{- $feature := ternary $facts.switches.tenants $facts.switches.policies (eq (dir $path | base) "tenants") -}}
    {{- $there := lookup "apiextensions.k8s.io/v1" "CustomResourceDefinition" "" $name -}}
    {{- $notes := dig "metadata" "annotations" dict $there -}}
    {{- $of := printf "%v/%v" (get $notes "meta.helm.sh/release-namespace") (get $notes "meta.helm.sh/release-name") -}}
    {{- $status := "ours" -}}
    {{- if and $there (ne $of (printf "%s/%s" $.Release.Namespace $.Release.Name)) -}}
      {{- $status = "there" -}}
    {{- else if not $own -}}
      {{- $wanted := and $feature (or (eq $.Values.policyKinds "all") (and (eq $.Values.policyKinds "missing") $connected)) -}}
      {{- if not $wanted -}}{{- $status = "missing" -}}{{- end -}}
    {{- end -}}
    {{- $_ := set $found $name (dict "status" $status "path" $path) -}}
  {{- end -}}
{{- end -}}
{{- toJson $found -}}
{{- end -}}
