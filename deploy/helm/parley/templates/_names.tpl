{{- define "parley.fullname" -}}
{{- $name := .Release.Name | trunc 40 | trimSuffix "-" }}
{{- if contains "parley" $name }}{{ $name }}{{ else }}{{ $name | trunc 33 | trimSuffix "-" }}-parley{{ end }}
{{- end }}

{{- define "parley.labels" -}}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
app.kubernetes.io/part-of: parley
{{ include "parley.selector" . }}
{{- end }}

{{- define "parley.selector" -}}
app.kubernetes.io/name: parley
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{/* Arguments: root, app. */}}
{{- define "parley.image" -}}
{{- with .root }}{{ .Values.image.repository }}-{{ $.app }}:{{ .Values.image.tag | default .Chart.AppVersion }}{{ end }}
{{- end }}

{{- define "parley.contentUrl" -}}
{{ .Values.contentUrl | default .Values.publicUrl }}
{{- end }}

{{/* Port of a URL, or the default port of its protocol. */}}
{{- define "parley.portOf" -}}
{{- $url := urlParse . }}
{{- $ports := dict "http" "80" "https" "443" "nats" "4222" "tls" "4222" }}
{{- if contains ":" $url.host }}{{ last (splitList ":" $url.host) }}{{ else }}{{ get $ports $url.scheme }}{{ end }}
{{- end }}
