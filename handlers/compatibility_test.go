package handlers

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"kafka-iggy-bridge/bridge"
	"kafka-iggy-bridge/generated"
)

var updateCompatibility = flag.Bool("update", false, "rewrite the tables in docs/COMPATIBILITY.md")

const compatibilityFile = "../docs/COMPATIBILITY.md"

// The document's tables say what the registry and the bridge say.
func TestCompatibilityDocumentIsTrue(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile(compatibilityFile)
	if err != nil {
		t.Fatal(err)
	}
	doc := string(raw)
	for name, table := range map[string]string{"served": servedTable(t), "configurations": configTable()} {
		begin, end := "<!-- "+name+": written by go test ./handlers -run Compatibility -update -->\n", "<!-- end of "+name+" -->\n"
		head, rest, ok1 := strings.Cut(doc, begin)
		old, tail, ok2 := strings.Cut(rest, end)
		if !ok1 || !ok2 {
			t.Fatalf("no place for the table %q", name)
		}
		if old != table && !*updateCompatibility {
			t.Errorf("table %q is not true any more (go test ./handlers -run Compatibility -update):\n%s", name, table)
		}
		doc = head + begin + table + end + tail
	}
	if *updateCompatibility && doc != string(raw) {
		if err := os.WriteFile(compatibilityFile, []byte(doc), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func servedTable(t *testing.T) string {
	var b strings.Builder
	var later []string
	b.WriteString("\n| key | API | versions served | versions of Kafka " + generated.KafkaVersion + " |\n| ---: | --- | --- | --- |\n")
	rows := map[int16]generated.ApiVersionsResponseApiVersion{}
	for _, row := range advertised() {
		rows[row.ApiKey] = row
	}
	for _, key := range slices.Sorted(maps.Keys(routes)) {
		api, ok := generated.LookupAPI(key)
		if !ok {
			t.Fatalf("key %d is served and does not exist", key)
		}
		served := versionRange(routes[key].min, routes[key].max)
		if row := rows[key]; row.MinVersion != routes[key].min || row.MaxVersion != routes[key].max {
			served += ", advertised as " + versionRange(row.MinVersion, row.MaxVersion)
		}
		fmt.Fprintf(&b, "| %d | %s | %s | %s |\n", key, api.Name, served, versionRange(api.Min, api.MaxStable))
	}
	for key := int16(0); ; key++ {
		api, ok := generated.LookupAPI(key)
		if !ok {
			break
		}
		if _, served := routes[key]; served || !api.Valid() || !slices.Contains(api.Listeners, "broker") {
			continue
		}
		later = append(later, fmt.Sprintf("%d %s", key, api.Name))
	}
	b.WriteString("\n" + wrapped("Not served, and not advertised: "+strings.Join(later, ", ")+".") + "\n")
	return b.String()
}

func versionRange(low, high int16) string {
	if low == high {
		return fmt.Sprint(low)
	}
	return fmt.Sprintf("%d–%d", low, high)
}

func configTable() string {
	var works, kept []string
	for _, def := range bridge.TopicConfigs() {
		if def.Effective {
			works = append(works, "`"+def.Name+"`")
		} else {
			kept = append(kept, "`"+def.Name+"`")
		}
	}
	return "\n" + wrapped("Acted on: "+strings.Join(works, ", ")+".") + "\n" +
		wrapped("Checked, kept and reported, without effect: "+strings.Join(kept, ", ")+".") + "\n"
}

// wrapped breaks a text into lines.
func wrapped(text string) string {
	var b strings.Builder
	length := 0
	for _, word := range strings.Fields(text) {
		if length > 0 && length+1+len(word) > 150 {
			b.WriteByte('\n')
			length = 0
		}
		if length > 0 {
			b.WriteByte(' ')
			length++
		}
		b.WriteString(word)
		length += len(word)
	}
	return b.String() + "\n"
}
