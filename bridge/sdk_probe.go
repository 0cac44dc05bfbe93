package bridge

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"os"
	"time"
)

// probe connects to Iggy and pings it, by hand and within a deadline. The SDK's
// constructor tries for ever when nobody listens, and waits for ever when
// somebody listens and says nothing: it is only called when a probe went well.
func (c *Config) probe(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, c.DialTimeout)
	defer cancel()
	var dialer net.Dialer
	conn, err := dialer.DialContext(ctx, "tcp", c.Address)
	if err != nil {
		return err
	}
	deadline, ok := ctx.Deadline()
	if !ok {
		deadline = time.Now().Add(c.DialTimeout)
	}
	if err := conn.SetDeadline(deadline); err != nil {
		return closeAfter(conn, err)
	}
	if c.TLS.Enabled {
		config, err := c.TLS.config(c.Address)
		if err != nil {
			return closeAfter(conn, err)
		}
		secure := tls.Client(conn, config)
		if err := secure.HandshakeContext(ctx); err != nil {
			return closeAfter(conn, fmt.Errorf("TLS: %w", err))
		}
		conn = secure
	}
	return closeAfter(conn, ping(conn))
}

func closeAfter(conn net.Conn, err error) error {
	if closeErr := conn.Close(); err == nil {
		err = closeErr
	}
	return err
}

// ping is Iggy's command 1, which it answers to anybody.
func ping(conn net.Conn) error {
	request := [8]byte{0: 4, 4: 1} // length of the code, code
	if _, err := conn.Write(request[:]); err != nil {
		return err
	}
	var answer [8]byte
	if _, err := io.ReadFull(conn, answer[:]); err != nil {
		return fmt.Errorf("no answer to a ping: %w", err)
	}
	status, length := binary.LittleEndian.Uint32(answer[0:]), binary.LittleEndian.Uint32(answer[4:])
	if status != 0 || length != 0 {
		return fmt.Errorf("a strange answer to a ping, status %d: this is not Iggy 0.8, or it is shutting down", status)
	}
	return nil
}

// config is the TLS configuration that the SDK makes of the same settings.
func (t *TLSConfig) config(address string) (*tls.Config, error) {
	name := t.Domain
	if name == "" {
		host, _, err := net.SplitHostPort(address)
		if err != nil {
			return nil, err
		}
		name = host
	}
	config := &tls.Config{ServerName: name, InsecureSkipVerify: t.SkipVerify}
	if t.CAFile != "" {
		pem, err := os.ReadFile(t.CAFile)
		if err != nil {
			return nil, fmt.Errorf("reading the authorities: %w", err)
		}
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("%s holds no certificate", t.CAFile)
		}
	}
	return config, nil
}
