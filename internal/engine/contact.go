package engine

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"syscall"
)

// AddressFile is the file in the data folder that holds, while an engine runs,
// the address at which it serves and how that is encrypted, as JSON. Only the
// folder's owner can read it.
const AddressFile = "address"

// ErrNotRunning means that no engine runs on a data folder.
var ErrNotRunning = errors.New("engine: no engine runs on the data folder")

// Contact is how other programs of the data folder's owner reach an engine that
// runs.
type Contact struct {
	// Address is host:port on this machine.
	Address string
	// TLS tells that the address speaks TLS only; CertificateFile is then the
	// engine's own certificate, empty when it was given another one.
	TLS             bool
	CertificateFile string
	// Username and Password are the root user's, empty when the engine does not
	// keep them because a password is configured.
	Username, Password string
}

// storedContact is the content of the address file.
type storedContact struct {
	Address    string `json:"address"`
	TLS        bool   `json:"tls"`
	SelfSigned bool   `json:"self_signed"`
}

func (f *folder) writeContact(at storedContact) error {
	b, err := json.Marshal(at)
	if err != nil {
		return fmt.Errorf("engine: %w", err)
	}
	return f.write(AddressFile, append(b, '\n'))
}

func (f *folder) removeContact() error {
	if err := os.Remove(filepath.Join(f.dir, AddressFile)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("engine: %w", err)
	}
	return nil
}

// ReadContact tells how to reach the engine that runs on a data folder. It fails
// with ErrNotRunning when there is none.
func ReadContact(dir string) (Contact, error) {
	if err := checkRunning(dir); err != nil {
		return Contact{}, err
	}
	f := &folder{dir: dir}
	b, err := os.ReadFile(filepath.Join(dir, AddressFile))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return Contact{}, fmt.Errorf("%w: %s has no file %s", ErrNotRunning, dir, AddressFile)
	case err != nil:
		return Contact{}, fmt.Errorf("engine: data folder: %w", err)
	}
	var at storedContact
	if err := json.Unmarshal(b, &at); err != nil {
		return Contact{}, fmt.Errorf("engine: read %s: %w", AddressFile, err)
	}
	if err := f.readCredentials(); err != nil {
		return Contact{}, err
	}
	c := Contact{Address: reachable(at.Address), TLS: at.TLS, Username: f.user, Password: f.password}
	if at.SelfSigned {
		c.CertificateFile = filepath.Join(dir, certificateFile)
	}
	return c, nil
}

// checkRunning looks at the folder's lock: an address file alone may be what a
// killed engine left behind, and somebody else may have its port by now.
func checkRunning(dir string) error {
	lock, err := os.Open(filepath.Join(dir, lockFile))
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%w: %s is no engine's data folder", ErrNotRunning, dir)
	}
	if err != nil {
		return fmt.Errorf("engine: data folder: %w", err)
	}
	err = syscall.Flock(int(lock.Fd()), syscall.LOCK_SH|syscall.LOCK_NB)
	switch {
	case errors.Is(err, syscall.EWOULDBLOCK):
		return lock.Close()
	case err != nil:
		return errors.Join(fmt.Errorf("engine: lock data folder: %w", err), lock.Close())
	}
	err = syscall.Flock(int(lock.Fd()), syscall.LOCK_UN)
	return errors.Join(fmt.Errorf("%w: %s", ErrNotRunning, dir), err, lock.Close())
}

// reachable replaces the host of a wildcard address by this machine's own.
func reachable(address string) string {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return address
	}
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		return net.JoinHostPort("localhost", port)
	}
	return address
}
