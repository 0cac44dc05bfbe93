package config

import (
	"errors"
	"fmt"
	"math"
	"net"
	"os"
	"sort"
	"strconv"
	"strings"

	"github.com/spf13/pflag"
	"github.com/spf13/viper"
)

const (
	envPrefix = "BRIDGE_"
	// envFile names the configuration file, as --config does.
	envFile = envPrefix + "CONFIG"
	// FileFlag is the flag that names the configuration file.
	FileFlag = "config"
)

// value is what a key was set to, and by what.
type value struct{ text, source string }

// AddFlags adds one flag per key to flags, and FileFlag.
func AddFlags(flags *pflag.FlagSet) {
	flags.String(FileFlag, "", "configuration file: YAML, TOML or JSON (environment "+envFile+")")
	for _, k := range keys() {
		flags.Var(&textValue{text: k.def, kind: string(k.kind)}, k.name, strings.TrimSuffix(k.doc, "."))
		if k.kind == kindBool {
			flags.Lookup(k.name).NoOptDefVal = "true"
		}
	}
}

// textValue is a flag whose text is checked with the other sources' values.
type textValue struct{ text, kind string }

func (v *textValue) String() string     { return v.text }
func (v *textValue) Set(s string) error { v.text = s; return nil }
func (v *textValue) Type() string       { return v.kind }

// Load reads the configuration from defaults, file, environment and flags. The
// flags are those that AddFlags added, parsed. All that is wrong is reported
// together, each with key, source and what is allowed.
func Load(flags *pflag.FlagSet) (*Config, error) {
	src, err := openSources(flags)
	if err != nil {
		return nil, err
	}
	errs := append(unknownInEnvironment(os.Environ()), src.unknownInFile()...)
	c := &Config{values: map[string]value{}}
	for _, k := range keys() {
		v, err := src.lookup(&k)
		if err == nil {
			var parsed any
			if parsed, err = k.parse(v.text); err == nil {
				k.set(c, parsed)
			}
		}
		if err != nil {
			errs = append(errs, k.badValue(v, err))
		}
		c.values[k.name] = v
	}
	if len(errs) == 0 {
		errs = append(errs, c.check()...)
	}
	if len(errs) == 0 {
		errs = append(errs, c.readPassword()...)
	}
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	return c, nil
}

// sources are what a configuration is read from; viper merges them.
type sources struct {
	viper *viper.Viper
	flags *pflag.FlagSet
	path  string // of the file; empty for none
}

func openSources(flags *pflag.FlagSet) (*sources, error) {
	v := viper.New()
	v.AllowEmptyEnv(true) // empty has a meaning for some keys, and is an error for the others
	for _, k := range keys() {
		v.SetDefault(k.name, k.def)
		if err := v.BindEnv(k.name, k.env()); err != nil {
			return nil, fmt.Errorf("bind %s: %w", k.env(), err)
		}
		if err := v.BindPFlag(k.name, flags.Lookup(k.name)); err != nil {
			return nil, fmt.Errorf("bind --%s: %w", k.name, err)
		}
	}
	s := &sources{viper: v, flags: flags, path: os.Getenv(envFile)}
	from := "environment " + envFile
	if flag := flags.Lookup(FileFlag); flag.Changed {
		s.path, from = flag.Value.String(), "flag --"+FileFlag
	}
	if s.path == "" {
		return s, nil
	}
	v.SetConfigFile(s.path)
	err := v.ReadInConfig()
	var unsupported viper.UnsupportedConfigError
	switch {
	case errors.As(err, &unsupported):
		return nil, fmt.Errorf("%s (from %s): the name has to end in .yaml, .yml, .toml or .json", s.path, from)
	case err != nil:
		return nil, fmt.Errorf("%s (from %s): %w", s.path, from, err)
	}
	return s, nil
}

func unknownInEnvironment(environ []string) []error {
	known := map[string]bool{envFile: true}
	for _, k := range keys() {
		known[k.env()] = true
	}
	var errs []error
	for _, pair := range environ {
		name, _, _ := strings.Cut(pair, "=")
		if known[name] || !strings.HasPrefix(name, envPrefix) {
			continue
		}
		hint := ""
		if strings.HasPrefix(name, envPrefix+"SERVICE_") || strings.HasPrefix(name, envPrefix+"PORT") {
			hint = " (Kubernetes sets it for a service named \"bridge\"; enableServiceLinks: false keeps it out)"
		}
		key := strings.ToLower(strings.TrimPrefix(name, envPrefix))
		errs = append(errs, fmt.Errorf("environment: unknown key %s%s%s", name, suggest(key, envName), hint))
	}
	return sorted(errs)
}

// unknownInFile finds keys that only the file can have brought in.
func (s *sources) unknownInFile() []error {
	known := map[string]bool{}
	for _, k := range keys() {
		known[k.name] = true
	}
	asItIs := func(name string) string { return name }
	var errs []error
	for _, name := range s.viper.AllKeys() {
		if !known[name] && !s.emptySection(name) {
			errs = append(errs, fmt.Errorf("%s: unknown key %s%s", s.path, name, suggest(name, asItIs)))
		}
	}
	return sorted(errs)
}

// emptySection tells whether name is a section of the file that holds nothing.
func (s *sources) emptySection(name string) bool {
	for _, k := range keys() {
		if strings.HasPrefix(k.name, name+".") {
			switch s.viper.Get(name).(type) {
			case nil, map[string]any:
				return true
			}
		}
	}
	return false
}

func sorted(errs []error) []error {
	sort.Slice(errs, func(i, j int) bool { return errs[i].Error() < errs[j].Error() })
	return errs
}

// lookup finds a key's value and where it comes from.
func (s *sources) lookup(k *key) (value, error) {
	_, inEnvironment := os.LookupEnv(k.env())
	v := value{source: "default"}
	switch {
	case s.flags.Lookup(k.name).Changed:
		v.source = "flag --" + k.name
	case inEnvironment:
		v.source = "environment " + k.env()
	case s.viper.InConfig(k.name):
		v.source = s.path
	}
	found := s.viper.Get(k.name)
	text, err := k.text(found)
	if err != nil {
		text = fmt.Sprint(found)
	}
	v.text = text
	return v, err
}

// text turns a value as a file has it into the text that the other sources have.
func (k *key) text(v any) (string, error) {
	switch v := v.(type) {
	case string:
		return v, nil
	case bool, int, int64, uint64:
		return fmt.Sprint(v), nil
	case float64:
		if v == math.Trunc(v) && math.Abs(v) < 1<<53 {
			return strconv.FormatInt(int64(v), 10), nil // JSON has no integers
		}
		return strconv.FormatFloat(v, 'g', -1, 64), nil
	case []any:
		if k.kind != kindLocations {
			break
		}
		items := make([]string, len(v))
		for i, item := range v {
			text, ok := item.(string)
			if !ok {
				return "", fmt.Errorf("has %v, which is not TOPIC=STREAM/TOPIC", item)
			}
			items[i] = text
		}
		return strings.Join(items, ","), nil
	}
	return "", errors.New("is not a single value")
}

// badValue is the error for a value that its key does not allow.
func (k *key) badValue(v value, err error) error {
	text := strconv.Quote(v.text)
	if k.secret {
		text = masked
	}
	return fmt.Errorf("%s (from %s): %s %w; allowed: %s", k.name, v.source, text, err, k.allowedText())
}

// check looks at what several keys say together.
func (c *Config) check() []error {
	var errs []error
	if err := c.checkAdvertised(); err != nil {
		errs = append(errs, err)
	}
	if c.Iggy.Password != "" && c.Iggy.PasswordFile != "" {
		errs = append(errs, fmt.Errorf("iggy.password (from %s) and iggy.password_file (from %s): set one of them",
			c.values["iggy.password"].source, c.values["iggy.password_file"].source))
	}
	if c.Iggy.Address != "" && c.Iggy.Password == "" && c.Iggy.PasswordFile == "" {
		errs = append(errs, fmt.Errorf("iggy.address is %q (from %s), so iggy.password_file or iggy.password is needed for user %q",
			c.Iggy.Address, c.values["iggy.address"].source, c.Iggy.Username))
	}
	if c.MessageMaxBytes >= c.Kafka.MaxRequestBytes {
		errs = append(errs, fmt.Errorf("message.max.bytes=%d (from %s) has to be below kafka.max_request_bytes=%d (from %s)",
			c.MessageMaxBytes, c.values["message.max.bytes"].source, c.Kafka.MaxRequestBytes, c.values["kafka.max_request_bytes"].source))
	}
	if err := c.checkEmbeddedTLS(); err != nil {
		errs = append(errs, err)
	}
	return append(errs, c.checkGroups()...)
}

// checkGroups looks at the times of groups that depend on each other.
func (c *Config) checkGroups() []error {
	var errs []error
	if g := c.Groups; g.MinSessionTimeout > g.MaxSessionTimeout {
		errs = append(errs, fmt.Errorf("groups.min_session_timeout=%s (from %s) must not exceed groups.max_session_timeout=%s (from %s)",
			g.MinSessionTimeout, c.values["groups.min_session_timeout"].source, g.MaxSessionTimeout, c.values["groups.max_session_timeout"].source))
	}
	if g := c.Groups.Consumer; g.HeartbeatInterval >= g.SessionTimeout {
		errs = append(errs, fmt.Errorf("groups.consumer.heartbeat_interval=%s (from %s) has to be below groups.consumer.session_timeout=%s (from %s)",
			g.HeartbeatInterval, c.values["groups.consumer.heartbeat_interval"].source, g.SessionTimeout, c.values["groups.consumer.session_timeout"].source))
	}
	return errs
}

// checkAdvertised makes sure that clients are told an address they can reach.
func (c *Config) checkAdvertised() error {
	host, port, err := net.SplitHostPort(c.Kafka.Listen)
	if err != nil {
		return fmt.Errorf("kafka.listen: %w", err)
	}
	if c.Kafka.Advertised == "" {
		if !isWildcard(host) {
			return nil
		}
		return fmt.Errorf("kafka.listen=%s (from %s) listens on every interface, so clients must be told which address to use: "+
			"set kafka.advertised to one that they can reach, for example --kafka.advertised=my-host:%s or %s=my-host:%s",
			c.Kafka.Listen, c.values["kafka.listen"].source, port, envName("kafka.advertised"), port)
	}
	advertised, advertisedPort, err := net.SplitHostPort(c.Kafka.Advertised)
	if err != nil {
		return fmt.Errorf("kafka.advertised: %w", err)
	}
	if isWildcard(advertised) || advertisedPort == "0" {
		return fmt.Errorf("kafka.advertised=%s (from %s) is nothing a client can connect to; allowed: the host name or address and the port by which clients reach this bridge",
			c.Kafka.Advertised, c.values["kafka.advertised"].source)
	}
	return nil
}

// isWildcard tells whether a host stands for every interface.
func isWildcard(host string) bool {
	ip := net.ParseIP(host)
	return host == "" || ip != nil && ip.IsUnspecified()
}

// readPassword takes the password from its file.
func (c *Config) readPassword() []error {
	if c.Iggy.PasswordFile == "" {
		return nil
	}
	text, err := os.ReadFile(c.Iggy.PasswordFile)
	if err != nil {
		return []error{fmt.Errorf("iggy.password_file (from %s): %w", c.values["iggy.password_file"].source, err)}
	}
	c.Iggy.Password = strings.TrimRight(string(text), "\r\n")
	if c.Iggy.Password == "" {
		return []error{fmt.Errorf("iggy.password_file (from %s): %s is empty", c.values["iggy.password_file"].source, c.Iggy.PasswordFile)}
	}
	return nil
}
