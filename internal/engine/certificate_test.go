package engine

import (
	"crypto/tls"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/apache/iggy/foreign/go/client/tcp"
)

// servedCertificate connects as a client that trusts the certificate in the data
// folder and no other, and returns what it was shown.
func servedCertificate(t *testing.T, e *Engine, name string) []byte {
	t.Helper()
	cli, err := tcp.NewIggyTcpClient(tcp.WithServerAddress(e.Addr().String()),
		tcp.WithTLS(tcp.WithTLSCAFile(e.CertificateFile()), tcp.WithTLSDomain(name)))
	if err != nil {
		t.Fatalf("as %s: %v", name, err)
	}
	defer func() { _ = cli.Close() }()
	if err := cli.Ping(); err != nil {
		t.Fatalf("as %s: ping: %v", name, err)
	}
	conn, err := tls.Dial("tcp", e.Addr().String(), &tls.Config{InsecureSkipVerify: true})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	return conn.ConnectionState().PeerCertificates[0].Raw
}

func TestSelfSignedCertificateIsKept(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	e := startEngine(t, Options{DataDir: dir, SelfSigned: true})
	first := servedCertificate(t, e, "localhost")
	servedCertificate(t, e, "127.0.0.1")
	info, err := os.Stat(filepath.Join(dir, keyFile))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("key file: %v, %v", info, err)
	}
	stopEngine(t, e)
	tests := []struct {
		name   string
		change func(t *testing.T)
		same   bool
	}{
		{"unchanged", func(*testing.T) {}, true},
		{"a key that was written before a crash", func(t *testing.T) {
			_, key, err := newCertificate([]string{"localhost"}, time.Now())
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(dir, keyFile), key, 0o600); err != nil {
				t.Fatal(err)
			}
		}, false},
		{"the certificate is lost", func(t *testing.T) {
			if err := os.Remove(filepath.Join(dir, certificateFile)); err != nil {
				t.Fatal(err)
			}
		}, false},
		{"it ends soon", func(t *testing.T) {
			cert, key, err := newCertificate([]string{"localhost"}, time.Now().AddDate(-certificateYears, 0, 1))
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(dir, keyFile), key, 0o600); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(dir, certificateFile), cert, 0o600); err != nil {
				t.Fatal(err)
			}
		}, false},
	}
	for _, tt := range tests {
		tt.change(t)
		e := startEngine(t, Options{DataDir: dir, SelfSigned: true})
		got := servedCertificate(t, e, "localhost")
		if (string(got) == string(first)) != tt.same {
			t.Errorf("%s: the same certificate: %v", tt.name, !tt.same)
		}
		first = got
		stopEngine(t, e)
	}
}

func TestLoadTLS(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	cert, key, err := newCertificate([]string{"localhost"}, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	certPath, keyPath := filepath.Join(dir, "c"), filepath.Join(dir, "k")
	for path, b := range map[string][]byte{certPath: cert, keyPath: key} {
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	own, err := LoadTLS(certPath, keyPath)
	if err != nil {
		t.Fatal(err)
	}
	e := startEngine(t, Options{TLS: own})
	cli, err := tcp.NewIggyTcpClient(tcp.WithServerAddress(e.Addr().String()),
		tcp.WithTLS(tcp.WithTLSCAFile(certPath), tcp.WithTLSDomain("localhost")))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = cli.Close() }()
	if err := cli.Ping(); err != nil {
		t.Error(err)
	}
	if e.CertificateFile() != "" {
		t.Error("there is no self-signed certificate")
	}
	if _, err := LoadTLS(certPath, certPath); err == nil {
		t.Error("a certificate was taken for a key")
	}
}
