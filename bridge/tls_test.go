package bridge

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"kafka-iggy-bridge/internal/engine"
)

// selfSigned makes a certificate for 127.0.0.1 and a file with it.
func selfSigned(t *testing.T) (tls.Certificate, string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600); err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, file
}

func TestIggyBehindTLS(t *testing.T) {
	t.Parallel()
	certificate, authority := selfSigned(t)
	e, err := engine.Open(engine.Options{
		DataDir: t.TempDir(), Fsync: "never", Logger: discardLogger(),
		TLS: &tls.Config{Certificates: []tls.Certificate{certificate}},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { closeEngine(t, e) })
	for _, c := range []struct {
		name   string
		config TLSConfig
		why    string
	}{
		{"an authority that is trusted", TLSConfig{Enabled: true, CAFile: authority}, ""},
		{"any certificate", TLSConfig{Enabled: true, SkipVerify: true}, ""},
		{"an authority that is unknown", TLSConfig{Enabled: true}, "certificate"},
		{"no TLS", TLSConfig{}, "ping"},
	} {
		t.Run(c.name, func(t *testing.T) {
			config := engineConfig(t, e)
			config.TLS, config.DialTimeout = c.config, 2*time.Second
			b := openBridge(t, config)
			if c.why == "" {
				waitHealthy(t, b)
				produce(t, b, makeTopic(t, b, "secure", 1), 0, plainBatch(t, "a"))
				// An idle connection is looked at before it is used again.
				<-time.After(2 * idleCheck)
				produce(t, b, makeTopic(t, b, "secure", 1), 0, plainBatch(t, "b"))
				return
			}
			eventually(t, 20*time.Second, func() error {
				err := b.Health()
				if err == nil || !strings.Contains(err.Error(), c.why) {
					return err
				}
				return nil
			})
		})
	}
}
