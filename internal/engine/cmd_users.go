package engine

import (
	"errors"

	"kafka-iggy-bridge/internal/engine/access"
	"kafka-iggy-bridge/internal/engine/protocol"
)

const (
	minUserName = 3
	maxUserName = 50
	minPassword = 3
	maxPassword = 100
	maxUsers    = maxNumber
)

// appendUser appends a user's record. Engine.mu must be held.
func appendUser(dst []byte, u *user) []byte {
	dst = protocol.AppendU32(dst, u.id)
	dst = protocol.AppendU64(dst, u.createdAt)
	dst = append(dst, u.status)
	return protocol.AppendName(dst, u.name)
}

func checkUserName(name string) error {
	if len(name) < minUserName || len(name) > maxUserName {
		return protocol.ErrInvalidUsername
	}
	return nil
}

func checkPassword(password string) error {
	if len(password) < minPassword || len(password) > maxPassword {
		return protocol.ErrInvalidPassword
	}
	return nil
}

func readStatus(r *protocol.Reader) uint8 {
	status := r.U8()
	if r.Err() == nil && status != userActive && status != userInactive {
		r.Fail(protocol.ErrInvalidCommand)
	}
	return status
}

func (c *conn) getUser(r *protocol.Reader) error {
	id := r.ID()
	u, err := c.begin(r)
	if err != nil {
		return err
	}
	c.e.mu.RLock()
	defer c.e.mu.RUnlock()
	who := c.e.catalog.user(id)
	if who == nil {
		return nil // missing things are an empty answer
	}
	if who != u {
		if err := u.allow(access.SeeUsers); err != nil {
			return err
		}
	}
	c.out = appendUser(c.out, who)
	c.out = access.AppendOptional(c.out, who.perms.Load())
	return nil
}

func (c *conn) getUsers(r *protocol.Reader) error {
	u, err := c.begin(r)
	if err != nil {
		return err
	}
	if err := u.allow(access.SeeUsers); err != nil {
		return err
	}
	c.e.mu.RLock()
	defer c.e.mu.RUnlock()
	for who := range c.e.catalog.users.all() {
		c.out = appendUser(c.out, who)
	}
	return nil
}

func (c *conn) createUser(r *protocol.Reader) error {
	name, password := r.Name(), r.ShortText()
	status := readStatus(r)
	perms := access.ReadOptional(r)
	u, err := c.begin(r)
	if err != nil {
		return err
	}
	if err := u.allow(access.ChangeUsers); err != nil {
		return err
	}
	if err := checkUserName(name); err != nil {
		return err
	}
	if err := checkPassword(password); err != nil {
		return err
	}
	created := &user{createdAt: c.e.now(), name: name, status: status, hash: c.e.hasher.hash(password), tokens: make(map[string]*token)}
	created.perms.Store(perms)
	err = c.e.change(func() (func() error, error) {
		cat := &c.e.catalog
		if cat.userNames[name] != nil {
			return nil, protocol.ErrUserExists
		}
		if cat.users.used >= maxUsers {
			return nil, protocol.ErrUserLimit
		}
		created.id = cat.users.free()
		tx := c.e.begin()
		tx.Put(created.key(), created.value())
		wait, err := tx.write()
		if err != nil {
			return nil, err
		}
		cat.users.set(created.id, created)
		cat.userNames[name] = created
		return wait, nil
	})
	if err != nil {
		return err
	}
	c.e.mu.RLock()
	defer c.e.mu.RUnlock()
	c.out = appendUser(c.out, created)
	c.out = access.AppendOptional(c.out, created.perms.Load())
	return nil
}

// changeUser finds a user and applies f to it with the catalog locked.
func (c *conn) changeUser(id protocol.ID, f func(who *user) (func() error, error)) error {
	return c.e.change(func() (func() error, error) {
		who := c.e.catalog.user(id)
		if who == nil {
			return nil, protocol.ErrResourceNotFound
		}
		return f(who)
	})
}

func (c *conn) deleteUser(r *protocol.Reader) error {
	id := r.ID()
	u, err := c.begin(r)
	if err != nil {
		return err
	}
	if err := u.allow(access.ChangeUsers); err != nil {
		return err
	}
	return c.changeUser(id, func(who *user) (func() error, error) {
		if who.id == rootID {
			return nil, protocol.ErrCannotDeleteUser
		}
		tx := c.e.begin()
		for _, t := range who.tokens {
			tx.Delete(t.key())
		}
		tx.Delete(who.key())
		wait, err := tx.write()
		if err != nil {
			return nil, err
		}
		who.deleted.Store(true)
		c.e.hasher.forget(who.hash)
		c.e.catalog.users.remove(who.id)
		delete(c.e.catalog.userNames, who.name)
		for _, t := range who.tokens {
			delete(c.e.catalog.tokens, t.hash)
		}
		return wait, nil
	})
}

func (c *conn) updateUser(r *protocol.Reader) error {
	id := r.ID()
	var name string
	var status uint8
	if r.U8() != 0 {
		name = r.Name()
	}
	if r.U8() != 0 {
		status = readStatus(r)
	}
	u, err := c.begin(r)
	if err != nil {
		return err
	}
	if err := u.allow(access.ChangeUsers); err != nil {
		return err
	}
	if name != "" {
		if err := checkUserName(name); err != nil {
			return err
		}
	}
	root := false
	err = c.changeUser(id, func(who *user) (func() error, error) {
		root = who.id == rootID
		newName, newStatus := who.name, who.status
		if name != "" {
			if other := c.e.catalog.userNames[name]; other != nil && other != who {
				return nil, protocol.ErrUserExists
			}
			newName = name
		}
		if status != 0 {
			newStatus = status
		}
		return c.e.putUser(who, newName, newStatus, who.hash)
	})
	if err == nil && root && name != "" {
		c.e.rootChanged(name, "")
	}
	return err
}

func (c *conn) updatePermissions(r *protocol.Reader) error {
	id := r.ID()
	perms := access.ReadOptional(r)
	u, err := c.begin(r)
	if err != nil {
		return err
	}
	if err := u.allow(access.ChangeUsers); err != nil {
		return err
	}
	return c.changeUser(id, func(who *user) (func() error, error) {
		if who.id == rootID {
			return nil, protocol.ErrCannotChangePerms
		}
		tx := c.e.begin()
		tx.Put(who.key(), userValue(who.createdAt, who.name, who.status, who.hash, perms))
		wait, err := tx.write()
		if err != nil {
			return nil, err
		}
		who.perms.Store(perms)
		return wait, nil
	})
}

func (c *conn) changePassword(r *protocol.Reader) error {
	id, current, password := r.ID(), r.ShortText(), r.ShortText()
	u, err := c.begin(r)
	if err != nil {
		return err
	}
	if err := errors.Join(checkPassword(current), checkPassword(password)); err != nil {
		return err
	}
	c.e.mu.RLock()
	who := c.e.catalog.user(id)
	var hash string
	if who != nil {
		hash = who.hash
	}
	c.e.mu.RUnlock()
	if who == nil {
		return protocol.ErrResourceNotFound
	}
	if who != u {
		if err := u.allow(access.ChangeUsers); err != nil {
			return err
		}
	}
	match, err := c.e.hasher.matches(hash, current)
	if err != nil {
		return err
	}
	if !match {
		return protocol.ErrInvalidCredentials
	}
	next := c.e.hasher.hash(password)
	err = c.e.change(func() (func() error, error) {
		switch {
		case who.deleted.Load():
			return nil, protocol.ErrResourceNotFound
		case who.hash != hash: // changed meanwhile, so the current password was not
			return nil, protocol.ErrInvalidCredentials
		}
		return c.e.putUser(who, who.name, who.status, next)
	})
	if err == nil && who.id == rootID {
		c.e.rootChanged("", password)
	}
	return err
}
