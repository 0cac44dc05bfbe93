package engine

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"sync"

	"golang.org/x/crypto/argon2"
)

// Argon2id's cost, as OWASP recommends it for its memory size.
const (
	argonTime    = 2
	argonMemory  = 19 << 10 // KiB
	argonThreads = 1
	argonKey     = 32
	argonSalt    = 16
)

var errBadHash = errors.New("engine: a stored password hash does not parse")

// hasher makes and checks password hashes. Checking one is slow on purpose; a client
// that connects often would pay for it every time. So the hasher remembers, in memory
// only and under a key made at start, a fast keyed hash of the password that last
// matched each stored hash.
type hasher struct {
	once sync.Once
	key  [32]byte
	slow chan struct{} // bounds the memory that concurrent checks take

	mu    sync.Mutex
	known map[string][32]byte // by stored hash
}

func (h *hasher) init() {
	h.once.Do(func() {
		// crypto/rand never fails on the platforms Go supports; it ends the process.
		_, _ = rand.Read(h.key[:])
		h.slow = make(chan struct{}, 4)
		h.known = make(map[string][32]byte)
	})
}

// hash returns the PHC string of a password.
func (h *hasher) hash(password string) string {
	h.init()
	salt := make([]byte, argonSalt)
	_, _ = rand.Read(salt)
	h.slow <- struct{}{}
	key := argon2.IDKey([]byte(password), salt, argonTime, argonMemory, argonThreads, argonKey)
	<-h.slow
	stored := fmt.Sprintf("$argon2id$v=%d$m=%d,t=%d,p=%d$%s$%s", argon2.Version, argonMemory, argonTime, argonThreads,
		base64.RawStdEncoding.EncodeToString(salt), base64.RawStdEncoding.EncodeToString(key))
	h.remember(stored, password)
	return stored
}

// matches reports whether a password is the one that was hashed.
func (h *hasher) matches(stored, password string) (bool, error) {
	h.init()
	fast := h.fast(password)
	h.mu.Lock()
	known, ok := h.known[stored]
	h.mu.Unlock()
	if ok && hmac.Equal(known[:], fast[:]) {
		return true, nil
	}
	match, err := h.check(stored, password)
	if match {
		h.remember(stored, password)
	}
	return match, err
}

func (h *hasher) check(stored, password string) (bool, error) {
	fields := strings.Split(stored, "$")
	if len(fields) != 6 || fields[1] != "argon2id" {
		return false, errBadHash
	}
	var version int
	var memory, time uint32
	var threads uint8
	if _, err := fmt.Sscanf(fields[2], "v=%d", &version); err != nil || version != argon2.Version {
		return false, errBadHash
	}
	if _, err := fmt.Sscanf(fields[3], "m=%d,t=%d,p=%d", &memory, &time, &threads); err != nil ||
		memory > 1<<20 || time < 1 || time > 100 || threads < 1 {
		return false, errBadHash
	}
	salt, err := base64.RawStdEncoding.DecodeString(fields[4])
	if err != nil {
		return false, errBadHash
	}
	want, err := base64.RawStdEncoding.DecodeString(fields[5])
	if err != nil || len(want) == 0 {
		return false, errBadHash
	}
	h.slow <- struct{}{}
	got := argon2.IDKey([]byte(password), salt, time, memory, threads, uint32(len(want)))
	<-h.slow
	return subtle.ConstantTimeCompare(got, want) == 1, nil
}

func (h *hasher) fast(password string) (sum [32]byte) {
	mac := hmac.New(sha256.New, h.key[:])
	mac.Write([]byte(password))
	mac.Sum(sum[:0])
	return sum
}

func (h *hasher) remember(stored, password string) {
	sum := h.fast(password)
	h.mu.Lock()
	h.known[stored] = sum
	h.mu.Unlock()
}

// forget drops what is remembered of a hash that is no longer in use.
func (h *hasher) forget(stored string) {
	h.init()
	h.mu.Lock()
	delete(h.known, stored)
	h.mu.Unlock()
}
