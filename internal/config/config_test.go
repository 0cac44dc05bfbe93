package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"
)

// load loads with the given flags; tests that set the environment are not
// parallel.
func load(t *testing.T, args ...string) (*Config, error) {
	t.Helper()
	flags := pflag.NewFlagSet("test", pflag.ContinueOnError)
	AddFlags(flags)
	if err := flags.Parse(args); err != nil {
		t.Fatal(err)
	}
	return Load(flags)
}

func mustLoad(t *testing.T, args ...string) *Config {
	t.Helper()
	c, err := load(t, args...)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func write(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestDefaults(t *testing.T) {
	t.Parallel()
	c := mustLoad(t)
	want := &Config{
		Kafka: Kafka{
			Listen: "127.0.0.1:9093", NodeID: 1, MaxRequestBytes: 100 << 20, MaxConnections: 10_000,
			MaxInFlightRequests: 64, MaxInFlightBytes: 8 << 20, MaxResponseBacklog: 8 << 20,
			IdleTimeout: 10 * time.Minute, RequestReadTimeout: 30 * time.Second, WriteTimeout: 2 * time.Minute,
		},
		Iggy: Iggy{
			Username: "iggy", PoolSize: 4, ConnectTimeout: 5 * time.Second, RequestTimeout: 10 * time.Second,
			WatchInterval: 250 * time.Millisecond, RefreshInterval: 5 * time.Second,
		},
		Embedded: Embedded{
			DataDir: "./data", Fsync: FsyncInterval, FsyncInterval: time.Second, SegmentBytes: 1 << 30, Listen: "127.0.0.1:0", TLS: EmbeddedTLS{SelfSigned: true},
		},
		Bridge: Bridge{StateStream: "__kafka_bridge", Topics: map[string]Location{}},
		Topics: Topics{AutoCreate: true, DefaultPartitions: 1},
		Groups: Groups{
			InitialRebalanceDelay: 3 * time.Second, MinSessionTimeout: 6 * time.Second, MaxSessionTimeout: 30 * time.Minute, MaxSize: 1<<31 - 1,
			OffsetsRetention: 7 * 24 * time.Hour, OffsetsRetentionCheck: 10 * time.Minute, OffsetsPartitions: 50, OffsetMetadataMaxBytes: 4096,
			Consumer: ConsumerGroups{
				SessionTimeout: 45 * time.Second, HeartbeatInterval: 5 * time.Second, MaxSize: 1<<31 - 1, AssignmentInterval: time.Second,
				RegexRefresh: 10 * time.Minute,
			},
		},
		Transactions: Transactions{
			MaxTimeout: 15 * time.Minute, IDExpiration: 7 * 24 * time.Hour, ProducerIDExpiration: 24 * time.Hour, StatePartitions: 50,
		},
		Fetch:           Fetch{CacheBytes: 64 << 20},
		HTTP:            HTTP{Listen: "127.0.0.1:9094"},
		Log:             Log{Level: "info", Format: "text"},
		MessageMaxBytes: 1048588,
		ShutdownGrace:   30 * time.Second,
	}
	c.values = nil
	if diff := cmp.Diff(want, c, cmp.AllowUnexported(Config{})); diff != "" {
		t.Errorf("defaults (-want +got):\n%s", diff)
	}
}

func TestTheLaterSourceWins(t *testing.T) {
	path := write(t, "bridge.yaml", "kafka:\n  node_id: 2\n  max_connections: 20\nlog.level: debug\ntopics:\n  default_partitions: 20\n")
	t.Setenv("BRIDGE_KAFKA_MAX_CONNECTIONS", "30")
	t.Setenv("BRIDGE_TOPICS_DEFAULT_PARTITIONS", "30")
	c := mustLoad(t, "--config", path, "--topics.default_partitions=40", "--topics.auto_create=false")
	if c.Kafka.NodeID != 2 || c.Kafka.MaxConnections != 30 || c.Topics.DefaultPartitions != 40 || c.Topics.AutoCreate || c.Log.Level != "debug" {
		t.Errorf("got %+v %+v %+v", c.Kafka, c.Topics, c.Log)
	}
	for key, want := range map[string]string{
		"kafka.listen": "default", "kafka.node_id": path, "log.level": path, "kafka.max_connections": "environment BRIDGE_KAFKA_MAX_CONNECTIONS",
		"topics.default_partitions": "flag --topics.default_partitions",
	} {
		if got := c.values[key].source; got != want {
			t.Errorf("%s comes from %q, want %q", key, got, want)
		}
	}
}

func TestFilesOfEveryFormat(t *testing.T) {
	want := map[string]Location{"Orders.v1": {"sales", "Orders"}, "a": {"s/t", "u"}}
	files := map[string]string{
		"bridge.yaml": "kafka:\n  listen: 127.0.0.1:1\n  max_request_bytes: 2MiB\n  idle_timeout: 1m\nbridge:\n  topics: [Orders.v1=sales/Orders, a=s/t/u]\ntopics:\n  auto_create: false\n",
		"bridge.yml":  "kafka.listen: 127.0.0.1:1\nkafka.max_request_bytes: 2097152\nkafka.idle_timeout: 60s\nbridge.topics: 'Orders.v1=sales/Orders, a=s/t/u'\ntopics.auto_create: \"no\"\nkafka.advertised:\nmessage:\n",
		"bridge.toml": "[kafka]\nlisten = '127.0.0.1:1'\nmax_request_bytes = 2097152\nidle_timeout = '1m'\n[bridge]\ntopics = ['Orders.v1=sales/Orders', 'a=s/t/u']\n[topics]\nauto_create = false\n",
		"bridge.json": `{"kafka": {"listen": "127.0.0.1:1", "max_request_bytes": 2097152, "idle_timeout": "1m"}, "bridge": {"topics": ["Orders.v1=sales/Orders", "a=s/t/u"]}, "topics": {"auto_create": false}}`,
	}
	for name, text := range files {
		t.Run(name, func(t *testing.T) {
			t.Setenv("BRIDGE_CONFIG", write(t, name, text))
			c := mustLoad(t)
			if c.Kafka.Listen != "127.0.0.1:1" || c.Kafka.MaxRequestBytes != 2<<20 || c.Kafka.IdleTimeout != time.Minute || c.Topics.AutoCreate {
				t.Errorf("got %+v %+v", c.Kafka, c.Topics)
			}
			if diff := cmp.Diff(want, c.Bridge.Topics); diff != "" {
				t.Errorf("bridge.topics (-want +got):\n%s", diff)
			}
		})
	}
}

func TestMistakesAreNamedWithKeySourceAndWhatIsAllowed(t *testing.T) {
	cases := map[string]struct {
		file string
		env  [2]string
		args []string
		want []string
	}{
		"unknown key in the file":         {file: "kafka:\n  listne: x:1\n", want: []string{"bridge.yaml", "unknown key kafka.listne", "did you mean kafka.listen?"}},
		"unknown section in the file":     {file: "nothing:\n  like: it\n", want: []string{"unknown key nothing.like", "docs/CONFIG.md"}},
		"a map where a value belongs":     {file: "kafka:\n  listen:\n    a: b\n", want: []string{"kafka.listen (from", "bridge.yaml", "is not a single value", "HOST:PORT"}},
		"a value where a section belongs": {file: "kafka: 3\n", want: []string{"unknown key kafka;"}},
		"a list where a value belongs":    {file: "kafka:\n  node_id: [1]\n", want: []string{"kafka.node_id", "bridge.yaml", "is not a single value", "0 to 2147483647"}},
		"a fraction for an integer":       {file: "kafka:\n  node_id: 1.5\n", want: []string{"kafka.node_id", "is not an integer"}},
		"a key twice in the file":         {file: "log.level: info\nlog.level: warn\n", want: []string{"bridge.yaml", "log.level"}},
		"a file that is no YAML":          {file: "kafka: [\n", want: []string{"bridge.yaml"}},
		"unknown key in the environment":  {env: [2]string{"BRIDGE_KAFKA_LISTNE", "x"}, want: []string{"environment: unknown key BRIDGE_KAFKA_LISTNE", "did you mean BRIDGE_KAFKA_LISTEN?"}},
		"Kubernetes' service variables":   {env: [2]string{"BRIDGE_SERVICE_HOST", "10.0.0.1"}, want: []string{"BRIDGE_SERVICE_HOST", "enableServiceLinks"}},
		"empty where that means nothing":  {env: [2]string{"BRIDGE_KAFKA_NODE_ID", ""}, want: []string{"kafka.node_id", "environment BRIDGE_KAFKA_NODE_ID", "is empty"}},
		"a choice that does not exist":    {args: []string{"--embedded.fsync=sometimes"}, want: []string{"embedded.fsync (from flag --embedded.fsync)", `"sometimes"`, "never, interval, always"}},
		"a duration without unit":         {args: []string{"--shutdown.grace=30"}, want: []string{"shutdown.grace", "lacks a unit", "30s", "0s to 24h"}},
		"a duration that is none":         {args: []string{"--shutdown.grace=soon"}, want: []string{"is not a duration"}},
		"a duration out of range":         {args: []string{"--kafka.idle_timeout=1ms"}, want: []string{"kafka.idle_timeout", "is out of range", "1s to 168h"}},
		"a size that is none":             {args: []string{"--kafka.max_request_bytes=much"}, want: []string{"is not a size", "1KiB to"}},
		"a size above 64 bits":            {args: []string{"--fetch.cache_bytes=99999999TiB"}, want: []string{"fetch.cache_bytes", "is out of range"}},
		"an integer out of range":         {args: []string{"--topics.default_partitions=1001"}, want: []string{"1 to 1000"}},
		"no boolean":                      {args: []string{"--iggy.tls.enabled=maybe"}, want: []string{"is neither true nor false"}},
		"no port":                         {args: []string{"--kafka.listen=localhost"}, want: []string{"kafka.listen", "is not HOST:PORT"}},
		"port out of range":               {args: []string{"--kafka.listen=localhost:65536"}, want: []string{"65536"}},
		"no place":                        {args: []string{"--bridge.topics=a=b"}, want: []string{"bridge.topics", `"a=b"`, "TOPIC=STREAM/TOPIC"}},
		"a topic with two places":         {args: []string{"--bridge.topics=a=b/c,a=d/e"}, want: []string{`topic "a" twice`}},
		"a wildcard without advertised":   {args: []string{"--kafka.listen=0.0.0.0:9093"}, want: []string{"kafka.listen=0.0.0.0:9093", "kafka.advertised", "--kafka.advertised=my-host:9093", "BRIDGE_KAFKA_ADVERTISED"}},
		"an IPv6 wildcard":                {args: []string{"--kafka.listen=[::]:9093"}, want: []string{"kafka.advertised"}},
		"no host is a wildcard":           {args: []string{"--kafka.listen=:9093"}, want: []string{"kafka.advertised"}},
		"a wildcard advertised":           {args: []string{"--kafka.advertised=0.0.0.0:9093"}, want: []string{"kafka.advertised=0.0.0.0:9093", "nothing a client can connect to"}},
		"port 0 advertised":               {args: []string{"--kafka.advertised=host:0"}, want: []string{"nothing a client can connect to"}},
		"a certificate without key":       {args: []string{"--embedded.tls.enabled", "--embedded.tls.cert_file=c"}, want: []string{"embedded.tls.cert_file (from flag", "embedded.tls.key_file", "both or neither"}},
		"a certificate that is not used":  {args: []string{"--embedded.tls.cert_file=c", "--embedded.tls.key_file=k"}, want: []string{"embedded.tls.enabled=false"}},
		"TLS without a certificate":       {args: []string{"--embedded.tls.enabled", "--embedded.tls.self_signed=false"}, want: []string{"embedded.tls.self_signed=true"}},
		"an Iggy without password":        {args: []string{"--iggy.address=h:8090"}, want: []string{"iggy.address", "iggy.password_file"}},
		"two passwords":                   {args: []string{"--iggy.password=x", "--iggy.password_file=y"}, want: []string{"set one of them"}},
		"a password file that is missing": {args: []string{"--iggy.password_file=/nonexistent/password"}, want: []string{"iggy.password_file", "/nonexistent/password"}},
		"messages above requests":         {args: []string{"--message.max.bytes=100MiB"}, want: []string{"message.max.bytes", "kafka.max_request_bytes"}},
		"sessions without a timeout":      {args: []string{"--groups.min_session_timeout=31m"}, want: []string{"groups.min_session_timeout=31m0s (from flag", "groups.max_session_timeout=30m0s (from default"}},
		"heartbeats as rare as sessions":  {args: []string{"--groups.consumer.heartbeat_interval=45s"}, want: []string{"groups.consumer.heartbeat_interval=45s", "below groups.consumer.session_timeout=45s"}},
		"a file that is missing":          {args: []string{"--config=/nonexistent/bridge.yaml"}, want: []string{"/nonexistent/bridge.yaml", "flag --config"}},
		"a file of another kind":          {args: []string{"--config=/nonexistent/bridge.txt"}, want: []string{"bridge.txt", ".yaml"}},
		"several at once":                 {args: []string{"--log.level=loud", "--log.format=xml"}, want: []string{"log.level", "log.format"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if tc.file != "" {
				t.Setenv("BRIDGE_CONFIG", write(t, "bridge.yaml", tc.file))
			}
			if tc.env[0] != "" {
				t.Setenv(tc.env[0], tc.env[1])
			}
			_, err := load(t, tc.args...)
			if err == nil {
				t.Fatal("no error")
			}
			for _, want := range tc.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("error %q lacks %q", err, want)
				}
			}
		})
	}
}

func TestWhatIsAllowed(t *testing.T) {
	t.Parallel()
	cases := map[string][]string{
		"a wildcard with advertised":        {"--kafka.listen=0.0.0.0:9093", "--kafka.advertised=bridge.example:9093"},
		"an IPv6 address":                   {"--kafka.listen=[::1]:9093"},
		"port 0":                            {"--kafka.listen=127.0.0.1:0"},
		"HTTP switched off":                 {"--http.listen="},
		"a boolean flag without value":      {"--iggy.tls.enabled"},
		"grace 0":                           {"--shutdown.grace=0s"},
		"cache switched off":                {"--fetch.cache_bytes=0"},
		"a password for an Iggy":            {"--iggy.address=h:8090", "--iggy.password=secret"},
		"sizes with decimal units, a blank": {"--message.max.bytes=1 MB"},
	}
	for name, args := range cases {
		if _, err := load(t, args...); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestThePasswordComesFromItsFile(t *testing.T) {
	t.Parallel()
	c := mustLoad(t, "--iggy.address=h:8090", "--iggy.password_file="+write(t, "password", "hunter 2\n"))
	if c.Iggy.Password != "hunter 2" {
		t.Errorf("password %q", c.Iggy.Password)
	}
	if _, err := load(t, "--iggy.password_file="+write(t, "password", "\n")); err == nil || !strings.Contains(err.Error(), "is empty") {
		t.Errorf("empty file: %v", err)
	}
}

func TestPrintMasksSecretsAndCanBeReadAgain(t *testing.T) {
	t.Parallel()
	c := mustLoad(t, "--iggy.password=very secret", "--bridge.topics=a=b/c, d=e/f", "--kafka.cluster_id=with \"quotes\"")
	var out strings.Builder
	if err := c.Print(&out); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(out.String(), "very secret") || !strings.Contains(out.String(), `iggy.password: "********" # flag --iggy.password`) {
		t.Errorf("secrets in\n%s", out.String())
	}
	again := mustLoad(t, "--config="+write(t, "printed.yaml", out.String()))
	again.Iggy.Password = c.Iggy.Password
	c.values, again.values = nil, nil
	if diff := cmp.Diff(c, again, cmp.AllowUnexported(Config{})); diff != "" {
		t.Errorf("read again (-printed +read):\n%s", diff)
	}
}

func TestASecretIsNotInErrors(t *testing.T) {
	t.Parallel()
	for _, k := range keys() {
		if k.secret && strings.Contains(k.badValue(value{text: "very secret"}, os.ErrInvalid).Error(), "very secret") {
			t.Errorf("%s is shown", k.name)
		}
	}
}

func TestTheTableIsSound(t *testing.T) {
	t.Parallel()
	names, envs := map[string]bool{}, map[string]bool{envFile: true}
	for _, k := range keys() {
		if names[k.name] || envs[k.env()] {
			t.Errorf("%s or %s is there twice", k.name, k.env())
		}
		names[k.name], envs[k.env()] = true, true
		if _, err := k.parse(k.def); err != nil && !k.optional {
			t.Errorf("%s: default %q %v", k.name, k.def, err)
		}
		if k.doc == "" || !strings.HasSuffix(k.doc, ".") || k.set == nil || k.allowedText() == "" {
			t.Errorf("%s is not fully described", k.name)
		}
	}
}

func TestTheDocumentIsCurrent(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.FromSlash("../../docs/CONFIG.md"))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(Markdown(), string(text)); diff != "" {
		t.Errorf("docs/CONFIG.md is out of date, run go generate ./internal/config (-table +file):\n%s", diff)
	}
}
