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

{{/* All public addresses, on any port: no private, shared, loopback, link-local, metadata, multicast or reserved ones. */}}
{{- define "parley.atInternet" -}}
to:
  - ipBlock:
      cidr: 0.0.0.0/0
      except:
        - 0.0.0.0/8
        - 10.0.0.0/8
        - 100.64.0.0/10
        - 127.0.0.0/8
        - 168.63.129.16/32
        - 169.254.0.0/16
        - 172.16.0.0/12
        - 192.0.0.0/24
        - 192.168.0.0/16
        - 198.18.0.0/15
        - 224.0.0.0/4
        - 240.0.0.0/4
  - ipBlock:
      cidr: 2000::/3
      except: [2001::/32, 2002::/16]
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
