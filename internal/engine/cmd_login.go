package engine

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"maps"
	"slices"

	"kafka-iggy-bridge/internal/engine/protocol"
)

const (
	minTokenName     = 3
	maxTokenName     = 30
	maxTokensPerUser = 100
	tokenBytes       = 50
)

func (c *conn) loginUser(r *protocol.Reader) error {
	name, password := r.Name(), r.ShortText()
	if len(r.Rest()) > 0 { // version and context, of which nothing depends
		r.LongText()
		r.LongText()
	}
	if err := r.Err(); err != nil {
		return err
	}
	if err := checkUserName(name); err != nil {
		return err
	}
	if err := checkPassword(password); err != nil {
		return err
	}
	c.e.mu.RLock()
	u := c.e.catalog.userNames[name]
	var hash string
	var status uint8
	if u != nil {
		hash, status = u.hash, u.status
	}
	c.e.mu.RUnlock()
	if u == nil {
		return protocol.ErrInvalidCredentials
	}
	if status != userActive {
		return protocol.ErrUserInactive
	}
	match, err := c.e.hasher.matches(hash, password)
	if err != nil {
		return err
	}
	if !match {
		return protocol.ErrInvalidCredentials
	}
	c.logIn(u)
	return nil
}

func (c *conn) logIn(u *user) {
	c.user.Store(u)
	c.out = protocol.AppendU32(c.out, u.id)
}

func (c *conn) logoutUser(r *protocol.Reader) error {
	if _, err := c.begin(r); err != nil {
		return err
	}
	c.user.Store(nil)
	return nil
}

func (c *conn) getTokens(r *protocol.Reader) error {
	u, err := c.begin(r)
	if err != nil {
		return err
	}
	c.e.mu.RLock()
	defer c.e.mu.RUnlock()
	for _, name := range slices.Sorted(maps.Keys(u.tokens)) {
		c.out = protocol.AppendName(c.out, name)
		c.out = protocol.AppendU64(c.out, u.tokens[name].expiresAt)
	}
	return nil
}

func (c *conn) createToken(r *protocol.Reader) error {
	name, expiry := r.Name(), r.U64()
	u, err := c.begin(r)
	if err != nil {
		return err
	}
	if len(name) < minTokenName || len(name) > maxTokenName {
		return protocol.ErrInvalidTokenName
	}
	raw := make([]byte, tokenBytes)
	if _, err := rand.Read(raw); err != nil {
		return err
	}
	text := base64.StdEncoding.EncodeToString(raw)
	t := &token{user: u, name: name, hash: sha256.Sum256([]byte(text))}
	if now := c.e.now(); expiry != 0 && expiry < protocol.Never-now {
		t.expiresAt = now + expiry
	}
	err = c.e.change(func() (func() error, error) {
		switch {
		case u.deleted.Load():
			return nil, protocol.ErrUnauthenticated
		case len(u.tokens) >= maxTokensPerUser:
			return nil, protocol.ErrTokenLimit
		case u.tokens[name] != nil:
			return nil, protocol.ErrTokenExists
		}
		tx := c.e.begin()
		tx.Put(t.key(), t.value())
		wait, err := tx.write()
		if err != nil {
			return nil, err
		}
		u.tokens[name] = t
		c.e.catalog.tokens[t.hash] = t
		return wait, nil
	})
	if err != nil {
		return err
	}
	c.out = protocol.AppendName(c.out, text)
	return nil
}

func (c *conn) deleteToken(r *protocol.Reader) error {
	name := r.Name()
	u, err := c.begin(r)
	if err != nil {
		return err
	}
	return c.e.change(func() (func() error, error) {
		t := u.tokens[name]
		if t == nil {
			return nil, protocol.ErrResourceNotFound
		}
		return c.e.removeToken(t)
	})
}

// removeToken deletes a token. Engine.mu must be held for writing.
func (e *Engine) removeToken(t *token) (func() error, error) {
	tx := e.begin()
	tx.Delete(t.key())
	wait, err := tx.write()
	if err != nil {
		return nil, err
	}
	delete(t.user.tokens, t.name)
	delete(e.catalog.tokens, t.hash)
	return wait, nil
}

func (c *conn) loginWithToken(r *protocol.Reader) error {
	text := r.ShortText()
	if err := r.Err(); err != nil {
		return err
	}
	c.e.mu.RLock()
	t := c.e.catalog.tokens[sha256.Sum256([]byte(text))]
	var status uint8
	if t != nil {
		status = t.user.status
	}
	c.e.mu.RUnlock()
	switch {
	case t == nil:
		return protocol.ErrResourceNotFound
	case t.expiresAt != 0 && t.expiresAt <= c.e.now():
		return protocol.ErrTokenExpired
	case status != userActive:
		return protocol.ErrUserInactive
	}
	c.logIn(t.user)
	return nil
}
