package config

import "fmt"

// checkEmbeddedTLS makes sure that the engine has a certificate where it needs one,
// and that one that was given is used.
func (c *Config) checkEmbeddedTLS() error {
	t := c.Embedded.TLS
	from := func(name string) string { return c.values[name].source }
	switch {
	case (t.CertFile == "") != (t.KeyFile == ""):
		return fmt.Errorf("embedded.tls.cert_file (from %s) and embedded.tls.key_file (from %s): set both or neither",
			from("embedded.tls.cert_file"), from("embedded.tls.key_file"))
	case !t.Enabled && t.CertFile != "":
		return fmt.Errorf("embedded.tls.cert_file is set (from %s), but embedded.tls.enabled=false (from %s)",
			from("embedded.tls.cert_file"), from("embedded.tls.enabled"))
	case t.Enabled && t.CertFile == "" && !t.SelfSigned:
		return fmt.Errorf("embedded.tls.enabled=true (from %s) needs embedded.tls.cert_file and embedded.tls.key_file, or embedded.tls.self_signed=true",
			from("embedded.tls.enabled"))
	}
	return nil
}
