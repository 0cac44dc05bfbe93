package config

import (
	"fmt"
	"io"
	"strconv"
	"strings"
)

// masked stands for a secret that is set.
const masked = "********"

// Print writes the effective configuration as YAML that the bridge can read
// again, each value with its source; secrets are masked.
func (c *Config) Print(w io.Writer) error {
	for _, k := range keys() {
		v := c.values[k.name]
		text := yamlText(&k, v.text)
		if k.secret && v.text != "" {
			text = `"` + masked + `"`
		}
		if _, err := fmt.Fprintf(w, "%s: %s # %s\n", k.name, text, v.source); err != nil {
			return err
		}
	}
	return nil
}

func yamlText(k *key, text string) string {
	switch k.kind {
	case kindInt, kindBool:
		return text
	case kindLocations:
		var items []string
		for item := range strings.SplitSeq(text, ",") {
			if item = strings.TrimSpace(item); item != "" {
				items = append(items, strconv.Quote(item))
			}
		}
		return "[" + strings.Join(items, ", ") + "]"
	}
	return strconv.Quote(text)
}

// Markdown is docs/CONFIG.md.
func Markdown() string {
	var b strings.Builder
	b.WriteString(`<!-- Generated from the table of keys in internal/config by go generate. Do not edit. -->
# Configuration

Each key can be set in four ways; the later one wins:

1. its default,
2. the file given with ` + "`--config`" + ` or ` + "`BRIDGE_CONFIG`" + `: YAML, TOML or JSON, keys nested at the dots or written in full,
3. the environment: ` + "`BRIDGE_`" + ` and the key in upper case, dots as underscores,
4. the flag of the key's name.

An unknown key or a value that is not allowed ends the bridge with an error that names the key, where it was set, and what is allowed.
` + "`kafka-iggy-bridge config`" + ` prints what is in effect and where it comes from, with secrets masked, in a form that can be used as a file.

Durations have a unit: ` + "`250ms`, `30s`, `10m`, `1h30m`" + `. Sizes are bytes or have a unit: ` + "`1048588`, `64KiB`, `100MiB`, `1GB`" + `.

`)
	for _, k := range keys() {
		fmt.Fprintf(&b, "## `%s`\n\n%s\n\n", k.name, k.doc)
		def := "empty"
		if k.def != "" {
			def = "`" + k.def + "`"
		}
		fmt.Fprintf(&b, "- Default: %s\n- Allowed: %s\n- Environment: `%s` · flag: `--%s`\n\n", def, k.allowedText(), k.env(), k.name)
	}
	return strings.TrimSuffix(b.String(), "\n")
}
