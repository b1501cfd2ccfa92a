{{/* Dependencies of each app. It gets the addresses and network access of these only. */}}
{{- define "parley.apps" -}}
admin: [nats, postgres, secretKey, account, operator]
chat: [nats, postgres, secretKey, chatKey]
files: [nats, postgres, secretKey, content, passages, nextPassages, blobs]
files-worker: [nats, postgres, passages, nextPassages, blobs]
gateway: [nats, tunnel]
hub: [nats, postgres, secretKey, operator]
models: [nats, postgres, secretKey, completions, pictures]
runner: [nats, code]
runtime: [nats, postgres, secretKey, bots]
tables: [nats, postgres, passages, files]
{{- end }}

{{/* Apps with a dependency, as a list for a selector. */}}
{{- define "parley.appsThatNeed" -}}
{{- $apps := list }}
{{- range $app, $needs := include "parley.apps" . | fromYaml }}{{ if has $.need $needs }}{{ $apps = append $apps $app }}{{ end }}{{ end }}
{{- toJson $apps }}
{{- end }}

{{/* Jobs before the pods of a version start: migrations in each Postgres with `migrate`, then streams. */}}
{{- define "parley.jobs" -}}
{{- $jobs := list (dict "name" "migrate" "command" "migrate" "needs" (list "postgres")) }}
{{- range $app := keys .Values.apps | sortAlpha }}
{{- if dig $app "postgres" "migrate" false $.Values.apps }}
{{- $jobs = append $jobs (dict "name" (printf "migrate-%s" $app) "command" "migrate" "needs" (list "postgres") "database" $app) }}
{{- end }}
{{- end }}
{{- append $jobs (dict "name" "streams" "command" "streams" "needs" (list "nats")) | toJson }}
{{- end }}

{{/* Database settings of an app: its own or the common ones. Arguments: root, app. */}}
{{- define "parley.postgres" -}}
{{- mergeOverwrite (dict) .root.Values.postgres (dig .app "postgres" dict .root.Values.apps) | toJson }}
{{- end }}

{{/* Maximum number of Postgres connections, including the surge pod of each app during an upgrade. */}}
{{- define "parley.connections" -}}
{{- $sum := 0 }}
{{- range include "parley.appsThatNeed" (dict "need" "postgres") | fromJsonArray }}
{{- $values := get $.Values.apps . }}
{{- $pods := $values.replicas }}
{{- with $values.autoscaling }}{{ if .enabled }}{{ $pods = .maxReplicas }}{{ end }}{{ end }}
{{- with $values.keda }}{{ if .enabled }}{{ $pods = .maxReplicas }}{{ end }}{{ end }}
{{- $sum = add $sum (mul (add $pods 1) (get $values.env "DATABASE_POOL_SIZE" | default 10)) }}
{{- end }}
{{- $sum }}
{{- end }}

{{/* Environment variables without empty ones. Arguments: root, app, needs. A Job uses the database of the app that it names. */}}
{{- define "parley.env" -}}
{{- $values := .root.Values }}
{{- $plain := dict }}
{{- $secret := dict }}
{{- if has "nats" .needs }}
{{- $plain = merge $plain (dict "NATS_URL" $values.nats.url "NATS_REPLICAS" $values.nats.replicas) }}
{{- if $values.nats.existingSecret }}{{ $_ := set $plain "NATS_NKEY_SEED_FILE" "/etc/parley/nats/seed" }}{{ end }}
{{- if $values.nats.caSecret }}{{ $_ := set $plain "NATS_CA_FILE" "/etc/parley/nats/ca.crt" }}{{ end }}
{{- if $values.nats.certSecret }}
{{- $plain = merge $plain (dict "NATS_CERT_FILE" "/etc/parley/nats/tls.crt" "NATS_KEY_FILE" "/etc/parley/nats/tls.key") }}
{{- end }}
{{- end }}
{{- if $values.caSecret }}{{ $_ := set $plain "NODE_EXTRA_CA_CERTS" "/etc/parley/ca/ca.crt" }}{{ end }}
{{- if has "postgres" .needs }}
{{- $postgres := include "parley.postgres" (dict "root" .root "app" (.database | default .app)) | fromJson }}
{{- $_ := set $secret "DATABASE_URL" (dict "name" $postgres.existingSecret "key" $postgres.secretKey) }}
{{- end }}
{{- if has "secretKey" .needs }}
{{- $_ := set $secret "PARLEY_SECRET_KEY" (dict "name" $values.existingSecret) }}
{{- $_ := set $secret "PARLEY_FORMER_SECRET_KEYS" (dict "name" $values.existingSecret "optional" true) }}
{{- end }}
{{- if has "chatKey" .needs }}
{{- $_ := set $secret "CHAT_ENCRYPTION_KEY" (dict "name" $values.existingSecret "optional" true) }}
{{- end }}
{{- if has "account" .needs }}
{{- $_ := set $secret "PARLEY_BOOTSTRAP_TOKEN" (dict "name" $values.existingSecret) }}
{{- $plain = merge $plain (dict "PARLEY_BOOTSTRAP_EMAIL" $values.bootstrapEmail "PUBLIC_URL" $values.publicUrl "CHAT_URL" $values.chatUrl "WEBHOOK_URL" $values.webhookUrl) }}
{{- end }}
{{- if has "tunnel" .needs }}
{{- $plain = merge $plain (dict "WEBHOOK_URL" $values.webhookUrl "CONTENT_URL" (include "parley.contentUrl" .root) "CHAT_URL" $values.chatUrl) }}
{{- end }}
{{- if and (has "tunnel" .needs) $values.tunnel.enabled }}
{{- $plain = merge $plain (dict "TUNNEL_PORT" 3100 "TUNNEL_URL" $values.tunnel.url) }}
{{- end }}
{{- if and (has "bots" .needs) $values.tunnel.enabled }}
{{- $_ := set $plain "TUNNEL_URL" $values.tunnel.url }}
{{- end }}
{{- if has "code" .needs }}
{{- $plain = merge $plain (dict "PUBLIC_URL" (printf "http://%s-gateway" (include "parley.fullname" .root)) "CONTENT_URL" (include "parley.contentUrl" .root) "WEBHOOK_URL" ($values.webhookUrl | default (printf "%s/webhooks" (trimSuffix "/" $values.publicUrl)))) }}
{{- end }}
{{- if has "operator" .needs }}
{{- $_ := set $plain "HUB_OPERATOR_WORKSPACE_ID" $values.operatorWorkspaceId }}
{{- $_ := set $plain "PARLEY_STRICT_DEPLOY" (ternary "true" "" $values.strictDeploy) }}
{{- end }}
{{- if has "content" .needs }}
{{- $_ := set $plain "CONTENT_URL" (include "parley.contentUrl" .root) }}
{{- end }}
{{- if or (has "account" .needs) (has "content" .needs) }}
{{- $_ := set $plain "MAX_UPLOAD_BYTES" (int64 $values.maxUploadBytes) }}
{{- end }}
{{- if or (has "account" .needs) (has "chatKey" .needs) }}
{{- $plain = merge $plain (dict "RECURRING_MIN_SECONDS" (int64 $values.recurringMinSeconds) "EVENT_RETENTION_DAYS" (int64 $values.eventRetentionDays)) }}
{{- end }}
{{- if has "files" .needs }}
{{- $_ := set $plain "FILES_URL" (printf "http://%s-files" (include "parley.fullname" .root)) }}
{{- end }}
{{- if has "passages" .needs }}
{{- $plain = merge $plain (dict "QDRANT_URL" $values.qdrant.url "EMBEDDINGS_URL" $values.embeddings.url "EMBEDDINGS_MODEL" $values.embeddings.model "EMBEDDINGS_QUERY_PREFIX" $values.embeddings.queryPrefix "EMBEDDINGS_PASSAGE_PREFIX" $values.embeddings.passagePrefix "EMBEDDINGS_INPUT_TYPES" $values.embeddings.inputTypes "EMBEDDINGS_LEAST_SCORE" $values.embeddings.leastScore) }}
{{- $secret = merge $secret (dict "QDRANT_API_KEY" (dict "name" $values.qdrant.existingSecret) "EMBEDDINGS_API_KEY" (dict "name" $values.embeddings.existingSecret)) }}
{{- end }}
{{- if has "completions" .needs }}
{{- $_ := set $plain "COMPLETIONS_URL" $values.completions.url }}
{{- $_ := set $secret "COMPLETIONS_API_KEY" (dict "name" $values.completions.existingSecret) }}
{{- end }}
{{- if has "nextPassages" .needs }}
{{- $plain = merge $plain (dict "NEXT_EMBEDDINGS_URL" $values.nextEmbeddings.url "NEXT_EMBEDDINGS_MODEL" $values.nextEmbeddings.model "NEXT_EMBEDDINGS_PASSAGE_PREFIX" $values.nextEmbeddings.passagePrefix "NEXT_EMBEDDINGS_INPUT_TYPES" $values.nextEmbeddings.inputTypes) }}
{{- $_ := set $secret "NEXT_EMBEDDINGS_API_KEY" (dict "name" $values.nextEmbeddings.existingSecret) }}
{{- end }}
{{- if has "blobs" .needs }}
{{- if eq $values.blobs.kind "folder" }}
{{- $_ := set $plain "BLOBS_DIR" "/blobs" }}
{{- else }}
{{- with $values.blobs.s3 }}
{{- $plain = merge $plain (dict "S3_ENDPOINT" .endpoint "S3_REGION" .region "S3_BUCKET" .bucket "S3_PREFIX" .prefix) }}
{{- $secret = merge $secret (dict "S3_ACCESS_KEY_ID" (dict "name" .existingSecret) "S3_SECRET_ACCESS_KEY" (dict "name" .existingSecret)) }}
{{- end }}
{{- end }}
{{- end }}
{{- with get $values.apps .app }}
{{- $shutdown := dict "SHUTDOWN_GRACE_MS" .shutdown.graceMs "SHUTDOWN_TIMEOUT_MS" .shutdown.timeoutMs }}
{{- $process := dict "LOG_LEVEL" $values.logLevel "METRICS_PORT" 9464 "TRUSTED_PROXIES" $values.trustedProxies "OTEL_EXPORTER_OTLP_ENDPOINT" $values.tracing.url }}
{{- /* For one release: values of 0.2.0 set the variables of language models for the apps that asked the models themselves. */}}
{{- $env := dict }}
{{- range $former := has "completions" $.needs | ternary (list "tables" "files" "files-worker") list }}
{{- range $name, $value := dig $former "env" dict $values.apps }}
{{- if hasPrefix "COMPLETIONS_" $name }}{{ $_ := set $env $name $value }}{{ end }}
{{- end }}
{{- end }}
{{- range $name, $value := .env }}
{{- if or (has "completions" $.needs) (not (hasPrefix "COMPLETIONS_" $name)) }}{{ $_ := set $env $name $value }}{{ end }}
{{- end }}
{{- $plain = mergeOverwrite $plain $process $shutdown $env }}
{{- end }}
{{- range $name, $value := $plain }}
{{- if ne (toString $value) "" }}
- { name: {{ $name }}, value: {{ toString $value | quote }} }
{{- end }}
{{- end }}
{{- range $name, $from := $secret }}
{{- if $from.name }}
- name: {{ $name }}
  valueFrom:
    secretKeyRef: {{ dict "name" $from.name "key" (get $from "key" | default $name) "optional" (get $from "optional" | default false) | toJson }}
{{- end }}
{{- end }}
{{- end }}

{{/* Volumes of a pod and mounts of its container, as two lists. Arguments: root, app, needs. */}}
{{- define "parley.volumes" -}}
{{- $values := .root.Values }}
{{- $volumes := list }}
{{- $mounts := list }}
{{- if has "nats" .needs }}
{{- $sources := list }}
{{- with $values.nats.existingSecret }}
{{- $user := eq $.app "streams" | ternary "operator" $.app | upper | replace "-" "_" }}
{{- $sources = append $sources (dict "secret" (dict "name" . "items" (list (dict "key" (printf "NATS_SEED_%s" $user) "path" "seed")))) }}
{{- end }}
{{- with $values.nats.caSecret }}
{{- $sources = append $sources (dict "secret" (dict "name" . "items" (list (dict "key" "ca.crt" "path" "ca.crt")))) }}
{{- end }}
{{- with $values.nats.certSecret }}
{{- $sources = append $sources (dict "secret" (dict "name" . "items" (list (dict "key" "tls.crt" "path" "tls.crt") (dict "key" "tls.key" "path" "tls.key")))) }}
{{- end }}
{{- if $sources }}
{{- $volumes = append $volumes (dict "name" "nats" "projected" (dict "defaultMode" 0o440 "sources" $sources)) }}
{{- $mounts = append $mounts (dict "name" "nats" "mountPath" "/etc/parley/nats" "readOnly" true) }}
{{- end }}
{{- end }}
{{- with $values.caSecret }}
{{- $volumes = append $volumes (dict "name" "ca" "secret" (dict "secretName" . "items" (list (dict "key" "ca.crt" "path" "ca.crt")))) }}
{{- $mounts = append $mounts (dict "name" "ca" "mountPath" "/etc/parley/ca" "readOnly" true) }}
{{- end }}
{{- if and (has "blobs" .needs) (eq $values.blobs.kind "folder") }}
{{- $claim := $values.blobs.folder.existingClaim | default (printf "%s-blobs" (include "parley.fullname" .root)) }}
{{- $volumes = append $volumes (dict "name" "blobs" "persistentVolumeClaim" (dict "claimName" $claim)) }}
{{- $mounts = append $mounts (dict "name" "blobs" "mountPath" "/blobs") }}
{{- end }}
{{- with dig .app "temporarySize" "" $values.apps }}
{{- $volumes = append $volumes (dict "name" "temporary" "emptyDir" (dict "sizeLimit" .)) }}
{{- $mounts = append $mounts (dict "name" "temporary" "mountPath" "/tmp") }}
{{- end }}
{{- dict "volumes" $volumes "mounts" $mounts | toYaml }}
{{- end }}

{{/* Pod security of every pod: the Pod Security Standard "restricted", and stricter. */}}
{{- define "parley.podSecurity" -}}
automountServiceAccountToken: false
enableServiceLinks: false
securityContext:
  runAsNonRoot: true
  runAsUser: {{ .Values.user }}
  runAsGroup: {{ .Values.user }}
  fsGroup: {{ .Values.user }}
  fsGroupChangePolicy: OnRootMismatch
  seccompProfile: { type: RuntimeDefault }
{{- with .Values.image.pullSecrets }}
imagePullSecrets:
  {{- range . }}
  - name: {{ . }}
  {{- end }}
{{- end }}
{{- with .Values.nodeSelector }}
nodeSelector: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.tolerations }}
tolerations: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
{{- end }}

{{- define "parley.containerSecurity" -}}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities: { drop: [ALL] }
{{- end }}
