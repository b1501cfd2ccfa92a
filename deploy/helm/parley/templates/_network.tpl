{{/* Address of a server, as the `ports` and `to` of a rule. */}}
{{- define "parley.atNats" -}}
{{- with .Values.nats }}
{{- $ports := list .port }}
{{- if not .port }}
{{- $ports = list }}
{{- range splitList "," .url }}{{ $ports = append $ports (include "parley.portOf" .) }}{{ end }}
{{- end }}
{{- include "parley.at" (dict "ports" (uniq $ports) "peers" .peers) }}
{{- end }}
{{- end }}

{{/* Arguments: root, app. */}}
{{- define "parley.atPostgres" -}}
{{- with include "parley.postgres" . | fromJson }}{{ include "parley.at" (dict "ports" (list .port) "peers" .peers) }}{{ end }}
{{- end }}

{{- define "parley.atDns" -}}
{{- dict "ports" (list (dict "port" 53 "protocol" "UDP") (dict "port" 53 "protocol" "TCP")) "to" .Values.networkPolicy.dnsTo | toJson }}
{{- end }}

{{/* Arguments: url, port, peers. */}}
{{- define "parley.atUrl" -}}
{{- include "parley.at" (dict "ports" (list (.port | default (include "parley.portOf" .url))) "peers" .peers) }}
{{- end }}

{{/* Arguments: ports, peers. */}}
{{- define "parley.at" -}}
{{- $ports := list }}
{{- range .ports }}{{ $ports = append $ports (dict "port" (int .) "protocol" "TCP") }}{{ end }}
{{- $at := dict "ports" $ports }}
{{- with .peers }}{{ $_ := set $at "to" . }}{{ end }}
{{- toJson $at }}
{{- end }}
