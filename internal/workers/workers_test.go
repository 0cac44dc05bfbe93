package workers

import (
	"sync"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestTasksNeverWaitForOneAnother(t *testing.T) {
	t.Parallel()
	p := New(2)
	const many = 50
	var begun, done sync.WaitGroup
	begun.Add(many)
	done.Add(many)
	release := make(chan struct{})
	for range many {
		p.Go(func() {
			defer done.Done()
			begun.Done()
			<-release
		})
	}
	begun.Wait() // all are at work at the same time
	close(release)
	done.Wait()
	p.Close()
	p.Wait()
}

func TestAtMostSoManyRest(t *testing.T) {
	t.Parallel()
	p := New(3)
	for range 4 {
		var begun sync.WaitGroup
		begun.Add(20)
		release := make(chan struct{})
		for range 20 {
			p.Go(func() {
				begun.Done()
				<-release
			})
		}
		begun.Wait()
		p.mu.Lock()
		resting := len(p.resting)
		p.mu.Unlock()
		if resting > 3 {
			t.Errorf("%d goroutines rest", resting)
		}
		close(release)
	}
	p.Close()
	p.Wait()
}

func TestATaskThatComesAfterTheCloseIsDone(t *testing.T) {
	t.Parallel()
	p := New(1)
	release, second := make(chan struct{}), make(chan struct{})
	p.Go(func() {
		<-release
		p.Go(func() { close(second) })
	})
	p.Close()
	close(release)
	<-second
	p.Wait()
}

func BenchmarkGo(b *testing.B) {
	p := New(4)
	done := make(chan struct{})
	task := func() { done <- struct{}{} }
	b.ReportAllocs()
	for b.Loop() {
		p.Go(task)
		<-done
	}
	p.Close()
	p.Wait()
}
