package engine

import (
	"kafka-iggy-bridge/internal/engine/access"
)

const (
	rootID = 0

	userActive   = 1
	userInactive = 2
)

// ensureRoot creates the root user at first start. Later it takes over a password
// given in the options: whoever configures the engine owns its data.
func (e *Engine) ensureRoot() error {
	root := e.catalog.users.get(rootID)
	if root == nil {
		return e.createRoot()
	}
	if e.opts.RootPassword == "" {
		if !e.folder.keepsCredentials() { // the password was configured and is not any more
			return e.folder.setCredentials(root.name, "", false)
		}
		return nil
	}
	same, err := e.hasher.matches(root.hash, e.opts.RootPassword)
	if err != nil {
		return err
	}
	if !same {
		if err := e.change(func() (func() error, error) {
			return e.putUser(root, root.name, root.status, e.hasher.hash(e.opts.RootPassword))
		}); err != nil {
			return err
		}
		e.log.Info("root password taken from the options")
	}
	return e.folder.setCredentials(root.name, e.opts.RootPassword, e.folder.keepsCredentials())
}

func (e *Engine) createRoot() error {
	name, password := e.opts.RootUser, e.opts.RootPassword
	if name == "" {
		name = DefaultRootUser
	}
	generated := password == ""
	if generated {
		var err error
		if password, err = randomText(24); err != nil {
			return err
		}
	}
	// The file comes first: a crash in between leaves a file that the next start
	// writes anew, never a root user whose password nobody knows.
	if err := e.folder.setCredentials(name, password, generated); err != nil {
		return err
	}
	root := &user{id: rootID, createdAt: e.now(), name: name, status: userActive, hash: e.hasher.hash(password), tokens: make(map[string]*token)}
	root.perms.Store(access.All())
	return e.change(func() (func() error, error) {
		tx := e.begin()
		tx.Put(root.key(), root.value())
		wait, err := tx.write()
		if err != nil {
			return nil, err
		}
		e.catalog.users.set(rootID, root)
		e.catalog.userNames[name] = root
		return wait, nil
	})
}

// putUser records and takes over a user's name, status and password hash. Engine.mu
// must be held for writing.
func (e *Engine) putUser(u *user, name string, status uint8, hash string) (func() error, error) {
	tx := e.begin()
	tx.Put(u.key(), userValue(u.createdAt, name, status, hash, u.perms.Load()))
	wait, err := tx.write()
	if err != nil {
		return nil, err
	}
	if hash != u.hash {
		e.hasher.forget(u.hash)
	}
	delete(e.catalog.userNames, u.name)
	u.name, u.status, u.hash = name, status, hash
	e.catalog.userNames[name] = u
	return wait, nil
}

// rootChanged keeps the credentials that the engine hands out true after the root user
// was renamed or got a new password.
func (e *Engine) rootChanged(name, password string) {
	oldName, oldPassword := e.folder.credentials()
	if name == "" {
		name = oldName
	}
	if password == "" {
		password = oldPassword
	}
	if err := e.folder.setCredentials(name, password, e.folder.keepsCredentials()); err != nil {
		e.log.WithError(err).Error("the root user's new credentials could not be kept in the data folder")
	}
}
