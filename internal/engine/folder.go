package engine

import (
	"crypto/rand"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
)

// formatVersion is the version of the data folder's layout that this program writes
// and the highest it reads.
const formatVersion = 1

// CredentialsFile is the file in the data folder that holds the root user's name and
// password, as JSON, when the engine made the password.
const CredentialsFile = "credentials"

// The data folder's other files.
const (
	lockFile        = "LOCK"       // locked while an engine runs
	formatFile      = "FORMAT"     // layout version and checksum salt
	runningFile     = "RUNNING"    // boot id of the machine while an engine runs
	metaFolder      = "meta"       // catalog and offsets
	partitionFolder = "partitions" // message logs, one folder each
)

// format is the content of the format file.
type format struct {
	Version int    `json:"version"`
	Salt    uint32 `json:"salt"`
}

// folder is an open, locked data folder.
type folder struct {
	dir  string
	lock *os.File
	salt uint32

	// machineCrashed is set when the last engine here did not stop in order and the
	// machine has been started anew since, or may have been.
	machineCrashed bool

	mu       sync.Mutex
	user     string
	password string
}

func (f *folder) meta() string       { return filepath.Join(f.dir, metaFolder) }
func (f *folder) partitions() string { return filepath.Join(f.dir, partitionFolder) }

// openFolder creates or opens a data folder and locks it.
func openFolder(dir string) (*folder, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("engine: data folder: %w", err)
	}
	lock, err := os.OpenFile(filepath.Join(dir, lockFile), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("engine: data folder: %w", err)
	}
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		if errors.Is(err, syscall.EWOULDBLOCK) {
			err = fmt.Errorf("%w: %s", ErrLocked, dir)
		} else {
			err = fmt.Errorf("engine: lock data folder: %w", err)
		}
		return nil, errors.Join(err, lock.Close())
	}
	f := &folder{dir: dir, lock: lock}
	if err := f.prepare(); err != nil {
		return nil, errors.Join(err, f.unlock())
	}
	return f, nil
}

// unlock gives the folder back. Closing the file alone would not, as long as a child
// process that was just forked still holds a copy of it.
func (f *folder) unlock() error {
	err := syscall.Flock(int(f.lock.Fd()), syscall.LOCK_UN)
	return errors.Join(err, f.lock.Close())
}

func (f *folder) prepare() error {
	if err := f.readFormat(); err != nil {
		return err
	}
	for _, sub := range []string{f.meta(), f.partitions()} {
		if err := os.MkdirAll(sub, 0o700); err != nil {
			return fmt.Errorf("engine: data folder: %w", err)
		}
	}
	boot := bootID()
	before, err := os.ReadFile(filepath.Join(f.dir, runningFile))
	switch {
	case errors.Is(err, fs.ErrNotExist): // stopped in order, or new
	case err != nil:
		return fmt.Errorf("engine: data folder: %w", err)
	default:
		f.machineCrashed = boot == "" || strings.TrimSpace(string(before)) != boot
	}
	if err := f.write(runningFile, []byte(boot+"\n")); err != nil {
		return err
	}
	return f.readCredentials()
}

// bootID identifies the run of the operating system; empty when it cannot be told.
func bootID() string {
	b, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(b))
}

func (f *folder) readFormat() error {
	path := filepath.Join(f.dir, formatFile)
	b, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return f.createFormat()
	}
	if err != nil {
		return fmt.Errorf("engine: data folder: %w", err)
	}
	var have format
	if err := json.Unmarshal(b, &have); err != nil || have.Version < 1 {
		return fmt.Errorf("engine: %s is not a format file of an engine's data folder", path)
	}
	if have.Version > formatVersion {
		return fmt.Errorf("%w: layout %d, this program knows up to %d", ErrNewerFormat, have.Version, formatVersion)
	}
	f.salt = have.Salt
	return nil
}

// createFormat makes an empty folder a data folder. A folder with other things in it
// is refused: it is likely a mistake.
func (f *folder) createFormat() error {
	entries, err := os.ReadDir(f.dir)
	if err != nil {
		return fmt.Errorf("engine: data folder: %w", err)
	}
	for _, e := range entries {
		if e.Name() != lockFile && !strings.HasSuffix(e.Name(), ".tmp") {
			return fmt.Errorf("engine: %s has no %s file but is not empty (it holds %s)", f.dir, formatFile, e.Name())
		}
	}
	var salt [4]byte
	if _, err := rand.Read(salt[:]); err != nil {
		return fmt.Errorf("engine: %w", err)
	}
	f.salt = binary.LittleEndian.Uint32(salt[:])
	b, err := json.Marshal(format{Version: formatVersion, Salt: f.salt})
	if err != nil {
		return fmt.Errorf("engine: %w", err)
	}
	return f.write(formatFile, append(b, '\n'))
}

// write puts a small file in place as a whole, durably.
func (f *folder) write(name string, b []byte) error {
	path := filepath.Join(f.dir, name)
	tmp, err := os.OpenFile(path+".tmp", os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return fmt.Errorf("engine: data folder: %w", err)
	}
	_, err = tmp.Write(b)
	if err == nil {
		err = tmp.Sync()
	}
	if closeErr := tmp.Close(); err == nil {
		err = closeErr
	}
	if err == nil {
		err = os.Rename(path+".tmp", path)
	}
	if err == nil {
		err = f.sync()
	}
	if err != nil {
		return fmt.Errorf("engine: write %s: %w", name, err)
	}
	return nil
}

func (f *folder) sync() error {
	d, err := os.Open(f.dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// close unlocks the folder; clean says that the next start may trust its files.
func (f *folder) close(clean bool) error {
	err := f.removeContact()
	if clean {
		if removeErr := os.Remove(filepath.Join(f.dir, runningFile)); removeErr != nil {
			err = errors.Join(err, removeErr)
		} else {
			err = errors.Join(err, f.sync())
		}
	}
	return errors.Join(err, f.unlock())
}

// storedCredentials is the content of the credentials file.
type storedCredentials struct {
	Username string `json:"username"`
	Password string `json:"password"`
}

func (f *folder) readCredentials() error {
	b, err := os.ReadFile(filepath.Join(f.dir, CredentialsFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("engine: data folder: %w", err)
	}
	var c storedCredentials
	if err := json.Unmarshal(b, &c); err != nil {
		return fmt.Errorf("engine: read %s: %w", CredentialsFile, err)
	}
	f.user, f.password = c.Username, c.Password
	return nil
}

func (f *folder) credentials() (user, password string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.user, f.password
}

// setCredentials remembers the root user's credentials, in the data folder too when
// keep is set.
func (f *folder) setCredentials(user, password string, keep bool) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.user, f.password = user, password
	if !keep {
		return nil
	}
	b, err := json.Marshal(storedCredentials{Username: user, Password: password})
	if err != nil {
		return fmt.Errorf("engine: %w", err)
	}
	return f.write(CredentialsFile, append(b, '\n'))
}

// keepsCredentials reports whether the data folder has a credentials file.
func (f *folder) keepsCredentials() bool {
	_, err := os.Stat(filepath.Join(f.dir, CredentialsFile))
	return err == nil
}

// randomText returns n random bytes as URL-safe text.
func randomText(n int) (string, error) {
	b := make([]byte, n)
	if _, err := rand.Read(b); err != nil {
		return "", fmt.Errorf("engine: %w", err)
	}
	return base64.RawURLEncoding.EncodeToString(b), nil
}
