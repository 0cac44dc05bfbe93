// Package workers keeps goroutines for tasks that are short and many. A fresh
// goroutine has to grow its stack for each deep call; one that has done a task
// before has the stack already.
package workers

import "sync"

// Pool runs tasks on goroutines of its own. There are as many as there are tasks
// at a time, whatever the tasks wait for, and a bounded number that rest until
// the next one comes.
type Pool struct {
	maxResting int

	mu      sync.Mutex
	resting []chan func() // the last one to rest is the next one to work
	closed  bool

	running sync.WaitGroup
}

// New makes a pool of which at most maxResting goroutines wait for tasks.
func New(maxResting int) *Pool { return &Pool{maxResting: maxResting} }

// Go runs a task. It does not wait for anything. It may be called after Close,
// as long as Wait has not returned.
func (p *Pool) Go(task func()) {
	p.mu.Lock()
	if last := len(p.resting) - 1; last >= 0 {
		w := p.resting[last]
		p.resting[last] = nil
		p.resting = p.resting[:last]
		p.mu.Unlock()
		w <- task // has room for one, and nobody else knows it now
		return
	}
	p.running.Add(1)
	p.mu.Unlock()
	go p.work(task)
}

// work does a task and those that come while it rests.
func (p *Pool) work(task func()) {
	defer p.running.Done()
	next := make(chan func(), 1)
	for ok := true; ok; task, ok = <-next {
		task()
		if !p.rest(next) {
			return
		}
	}
}

// rest puts a goroutine among those that wait, unless there are enough of them.
func (p *Pool) rest(w chan func()) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed || len(p.resting) >= p.maxResting {
		return false
	}
	p.resting = append(p.resting, w)
	return true
}

// Close ends the goroutines that rest; the others end with their tasks.
func (p *Pool) Close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	for _, w := range p.resting {
		close(w)
	}
	p.resting = nil
}

// Wait returns when no goroutine of the pool is left, which is after Close only.
func (p *Pool) Wait() { p.running.Wait() }
