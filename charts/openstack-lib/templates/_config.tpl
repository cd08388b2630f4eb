{{/*
Configuration files, from `config.files` of a chart's description. A file is one of
  ini: <conf key>       a map of sections, with `derived` and `blank` below it
  yaml: <conf key>      a map, as YAML          json: <conf key>   a map, as JSON
  template: <conf key>  text that is a template itself
  text: <text>          given as it is
Each goes into the Secret <service>-etc and is mounted at `path` (default /etc/<service>/<name>).
*/}}

{{/* A map laid over another, all levels; null deletes. sprig's merge would drop false, 0 and "". JSON out. */}}
{{- define "openstack-lib.overlay" -}}
{{- $out := deepCopy (index . 0) -}}
{{- range $key, $value := index . 1 -}}
  {{- if kindIs "invalid" $value -}}
    {{- $_ := unset $out $key -}}
  {{- else if and (kindIs "map" $value) (kindIs "map" (get $out $key)) -}}
    {{- $_ := set $out $key (include "openstack-lib.overlay" (list (get $out $key) $value) | fromJson) -}}
  {{- else -}}
    {{- $_ := set $out $key $value -}}
  {{- end -}}
{{- end -}}
{{- toJson $out -}}
{{- end -}}

{{/*
The sections of an ini file. List: sections from the values, `derived`, `blank`.
`derived` fills options that the values leave out or empty. `blank` fills only those present and empty:
for these, null in the values means that the option comes from elsewhere (a snippet in conf.d).
*/}}
{{- define "openstack-lib.sections" -}}
{{- $sections := deepCopy (index . 0 | default dict) -}}
{{- range $name, $options := index . 1 -}}
  {{- $section := get $sections $name | default dict -}}
  {{- range $option, $value := $options -}}
    {{- $given := get $section $option -}}
    {{- if or (kindIs "invalid" $given) (and (kindIs "string" $given) (eq $given "")) -}}
      {{- $_ := set $section $option $value -}}
    {{- end -}}
  {{- end -}}
  {{- $_ := set $sections $name $section -}}
{{- end -}}
{{- range $name, $options := index . 2 -}}
  {{- $section := get $sections $name | default dict -}}
  {{- range $option, $value := $options -}}
    {{- if and (hasKey $section $option) (eq (get $section $option | toString) "") -}}
      {{- $_ := set $section $option $value -}}
    {{- end -}}
  {{- end -}}
  {{- $_ := set $sections $name $section -}}
{{- end -}}
{{- toJson $sections -}}
{{- end -}}

{{/* oslo.config text. A list is joined by commas; {type: multistring, values: […]} repeats the option. */}}
{{- define "openstack-lib.ini" -}}
{{- range $name, $options := . }}
{{- if $options }}
[{{ $name }}]
{{- range $option, $value := $options }}
{{- if kindIs "invalid" $value }}
{{- else if kindIs "slice" $value }}
{{ $option }} = {{ include "openstack-lib.joined" $value }}
{{- else if and (kindIs "map" $value) (eq (get $value "type") "multistring") }}
{{- range $value.values }}
{{ $option }} = {{ include "openstack-lib.scalar" . }}
{{- end }}
{{- else if kindIs "map" $value }}
{{ $option }} = {{ include "openstack-lib.joined" $value.values }}
{{- else }}
{{ $option }} = {{ include "openstack-lib.scalar" $value }}
{{- end }}
{{- end }}
{{ end }}
{{- end }}
{{- end -}}

{{- define "openstack-lib.joined" -}}
{{- $items := list -}}
{{- range . -}}{{- $items = append $items (include "openstack-lib.scalar" .) -}}{{- end -}}
{{- join "," $items -}}
{{- end -}}

{{/* The text of one file. List: root, description of the file. */}}
{{- define "openstack-lib.file" -}}
{{- $root := index . 0 -}}
{{- $file := index . 1 -}}
{{- $conf := $root.Values.conf -}}
{{- if hasKey $file "ini" -}}
{{- $given := (include "openstack-lib.get" (list $conf $file.ini) | fromJson).v -}}
{{- range $file.overlays -}}
{{- $given = include "openstack-lib.overlay" (list $given ((include "openstack-lib.get" (list $conf .) | fromJson).v | default dict)) | fromJson -}}
{{- end -}}
{{- $sections := include "openstack-lib.sections" (list $given ($file.derived | default dict) ($file.blank | default dict)) | fromJson -}}
{{- range $file.redact -}}{{- $_ := unset $sections . -}}{{- end -}}
{{- include "openstack-lib.ini" $sections | trimPrefix "\n" -}}
{{- else if hasKey $file "yaml" -}}
{{- (include "openstack-lib.get" (list $conf $file.yaml) | fromJson).v | default dict | toYaml -}}
{{- else if hasKey $file "json" -}}
{{- (include "openstack-lib.get" (list $conf $file.json) | fromJson).v | default dict | toPrettyJson -}}
{{- else if hasKey $file "template" -}}
{{- tpl ((include "openstack-lib.get" (list $conf $file.template) | fromJson).v | default "" | toString) $root -}}
{{- else -}}
{{- $file.text -}}
{{- end -}}
{{- end -}}

{{/* The data of a configuration Secret, base64, as a YAML map. List: root, chart description. */}}
{{- define "openstack-lib.etc" -}}
{{- $root := index . 0 -}}
{{- range $name, $file := (index . 1).config.files }}
{{ $name | quote }}: {{ include "openstack-lib.file" (list $root $file) | b64enc | quote }}
{{- end }}
{{- end -}}

{{/* The data of the script ConfigMap: the chart's own bin/ and the shared scripts that it names. */}}
{{- define "openstack-lib.bin" -}}
{{- $root := index . 0 -}}
{{- $chart := index . 1 -}}
{{- range $path, $_ := $root.Files.Glob "bin/*" }}
{{ base $path | quote }}: |
{{ tpl ($root.Files.Get $path) $root | trim | indent 2 }}
{{- end }}
{{- range $chart.scripts }}
{{ . | quote }}: |
{{ include (printf "openstack-lib.script.%s" .) $root | trim | indent 2 }}
{{- end }}
{{- range $name, $key := $chart.scriptValues }}
{{ $name | quote }}: |
{{ tpl ((include "openstack-lib.get" (list $root.Values $key) | fromJson).v | default "true" | toString) $root | trim | indent 2 }}
{{- end }}
{{- end -}}
