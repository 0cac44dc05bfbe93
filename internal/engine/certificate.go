package engine

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// The self-signed certificate in the data folder.
const (
	certificateFile = "tls-cert.pem"
	keyFile         = "tls-key.pem"

	certificateYears = 10

	// renewBefore is how long before its end a self-signed certificate is made anew
	// at start.
	renewBefore = 30 * 24 * time.Hour
)

// LoadTLS returns the configuration of a server with the certificate (chain) and key
// of two PEM files.
func LoadTLS(certFile, keyFile string) (*tls.Config, error) {
	pair, err := tls.LoadX509KeyPair(certFile, keyFile)
	if err != nil {
		return nil, fmt.Errorf("engine: certificate: %w", err)
	}
	return serverTLS(pair), nil
}

func serverTLS(pair tls.Certificate) *tls.Config {
	return &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12}
}

// CertificateFile returns the path of the self-signed certificate, which clients may
// be given to trust; empty when the engine uses none.
func (e *Engine) CertificateFile() string {
	if !e.opts.SelfSigned {
		return ""
	}
	return filepath.Join(e.folder.dir, certificateFile)
}

// selfSigned loads the certificate kept in the data folder, after making one when
// there is none, or none that can still be used.
func (e *Engine) selfSigned() (*tls.Config, error) {
	pair, err := e.folder.certificate(e.opts.Clock())
	if err == nil {
		return serverTLS(pair), nil
	}
	if errors.Is(err, fs.ErrPermission) {
		return nil, fmt.Errorf("engine: certificate: %w", err)
	}
	if !errors.Is(err, fs.ErrNotExist) {
		e.log.WithError(err).Warn("self-signed certificate is made anew")
	}
	cert, key, err := newCertificate(certificateHosts(e.opts.Listen), e.opts.Clock())
	if err != nil {
		return nil, fmt.Errorf("engine: certificate: %w", err)
	}
	// A crash between the two leaves a pair that does not match; the next start
	// notices and begins again.
	if err := e.folder.write(keyFile, key); err != nil {
		return nil, err
	}
	if err := e.folder.write(certificateFile, cert); err != nil {
		return nil, err
	}
	if pair, err = tls.X509KeyPair(cert, key); err != nil {
		return nil, fmt.Errorf("engine: certificate: %w", err)
	}
	return serverTLS(pair), nil
}

// certificate reads the pair in the data folder and checks that it is valid for a
// while yet.
func (f *folder) certificate(now time.Time) (tls.Certificate, error) {
	pair, err := tls.LoadX509KeyPair(filepath.Join(f.dir, certificateFile), filepath.Join(f.dir, keyFile))
	if err != nil {
		return pair, err
	}
	if end := pair.Leaf.NotAfter; now.After(end.Add(-renewBefore)) {
		return pair, fmt.Errorf("it ends %s", end.Format(time.RFC3339))
	}
	return pair, nil
}

// certificateHosts are the names by which clients may reach a listener.
func certificateHosts(listen string) []string {
	hosts := []string{"localhost", "127.0.0.1", "::1"}
	if name, err := os.Hostname(); err == nil && name != "" {
		hosts = append(hosts, name)
	}
	if host, _, err := net.SplitHostPort(listen); err == nil && host != "" {
		if ip := net.ParseIP(host); ip == nil || !ip.IsUnspecified() {
			hosts = append(hosts, host)
		}
	}
	slices.Sort(hosts)
	return slices.Compact(hosts)
}

// newCertificate makes a certificate that signs itself, and its key, both in PEM. It
// is no authority: rustls, which Iggy's own clients use, refuses servers whose
// certificate is one.
func newCertificate(hosts []string, now time.Time) (certificate, key []byte, err error) {
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
	if err != nil {
		return nil, nil, err
	}
	template := &x509.Certificate{
		SerialNumber: serial,
		Subject:      pkix.Name{CommonName: "iggy engine"},
		NotBefore:    now.Add(-time.Hour), // clocks differ
		NotAfter:     now.AddDate(certificateYears, 0, 0),
		KeyUsage:     x509.KeyUsageDigitalSignature,
		ExtKeyUsage:  []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	for _, host := range hosts {
		if ip := net.ParseIP(host); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
		} else {
			template.DNSNames = append(template.DNSNames, host)
		}
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	if err != nil {
		return nil, nil, err
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		return nil, nil, err
	}
	var c, k bytes.Buffer
	if err := pem.Encode(&c, &pem.Block{Type: "CERTIFICATE", Bytes: der}); err != nil {
		return nil, nil, err
	}
	if err := pem.Encode(&k, &pem.Block{Type: "PRIVATE KEY", Bytes: keyDER}); err != nil {
		return nil, nil, err
	}
	return c.Bytes(), k.Bytes(), nil
}
