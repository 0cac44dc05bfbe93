package conformance

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// document is the list of differences for people.
const document = "../../../docs/ENGINE.md"

// difference is something the engine does otherwise than Iggy 0.8.0 on purpose. What
// and why stand in the document's row of the same name.
type difference struct {
	name  string // the row's first column
	shown string // the test that shows the engine's side of it, in or below internal/engine
}

// differences are all there are. A test that expects two different things says which
// of these it is about.
var differences = []difference{
	{"Acknowledged sends", "TestKillAtAnyMoment"},
	{"Torn tail after a crash", "TestTornTailIsCut"},
	{"Damaged header of the very last batch", "TestFlippedBits"},
	{"Everything expired, then a restart", "TestExpiryRemovesSegmentsAndKeepsTheEnd"},
	{"Expiry and the active segment", "TestExpiryRemovesSegmentsAndKeepsTheEnd"},
	{"Retention", "TestStoredOffsetsHoldSegmentsBack"},
	{topicUpdate, "TestUpdateOfATopicReplacesEverything"},
	{keyWithoutPartitions, "TestTopicWithoutPartitions"},
	{undrainedSend, "TestSendsThatAreRefusedAreDrained"},
	{undrainedCommand, "TestBadRequestsKeepTheConnectionInStep"},
	{"Send above `MaxSendBytes` (256 MiB)", "TestSendAboveTheLimitIsDrained"},
	{"Poll above `MaxPollBytes` (256 MiB)", "TestReadStopsAtMaxBytes"},
	{"Stream 4,097, or topic 4,097 of a stream", "TestCatalogLimits"},
	{inheritedGrants, "TestGrantsEndWithWhatTheyAreFor"},
	{atomicPurge, "TestPurge"},
	{deletedUser, "TestDeletedUserIsOut"},
	{"Message deduplication", "TestTheSameIDTwiceIsTwoMessages"},
	{"Client ids of two peers with the same hash", "TestClientNumbersDoNotCollide"},
	{migration, "TestGetMeKnowsUserAndGroups"},
	{"Cluster metadata", "TestRecording"},
	{snapshot, "TestSnapshotIsNotOffered"},
	{"Root password in the configuration after the first start", "TestCredentialsAreKept"},
	{"Disk full, or a failing disk", "TestFullDisk"},
	{"Self-signed certificate", "TestSelfSignedCertificateIsKept"},
}

// The differences that tests here make.
const (
	topicUpdate          = "Update of a topic with expiry or size 0"
	keyWithoutPartitions = "Send by key to a topic without partitions"
	undrainedSend        = "Send before login, or with malformed metadata"
	undrainedCommand     = "Command payload above 10 MiB"
	inheritedGrants      = "Grants on a deleted stream or topic"
	atomicPurge          = "Purge"
	deletedUser          = "A deleted user's open connections"
	migration            = "Connection changing shards"
	snapshot             = "GetSnapshot"
)

// differs says that the server at hand is expected to do otherwise than the engine. The
// test then expects Iggy's way, or leaves the step out where it would break the server
// or the connection.
func (s *server) differs(t *testing.T, name string) bool {
	t.Helper()
	for _, d := range differences {
		if d.name == name {
			return s.iggy
		}
	}
	t.Fatalf("%q is not in the list of differences", name)
	return false
}

// TestDifferencesAreListed holds the list here, the document, and the tests together.
func TestDifferencesAreListed(t *testing.T) {
	t.Parallel()
	documented := documentedDifferences(t)
	tests := testSources(t)
	for _, d := range differences {
		if reason, ok := documented[d.name]; !ok || reason == "" {
			t.Errorf("%q has no row in %s", d.name, document)
		}
		delete(documented, d.name)
		if !strings.Contains(tests, "func "+d.shown+"(t *testing.T)") {
			t.Errorf("%q: there is no %s", d.name, d.shown)
		}
	}
	for name := range documented {
		t.Errorf("row %q of %s is not in the list of differences", name, document)
	}
}

// documentedDifferences are the rows of the document's table, by first column.
func documentedDifferences(t *testing.T) map[string]string {
	t.Helper()
	b, err := os.ReadFile(document)
	if err != nil {
		t.Fatal(err)
	}
	rows := make(map[string]string)
	for line := range strings.Lines(string(b)) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		if len(cells) != 3 || strings.Contains(cells[0], "---") || strings.TrimSpace(cells[0]) == "What" {
			continue
		}
		rows[strings.TrimSpace(cells[0])] = strings.TrimSpace(cells[2])
	}
	return rows
}

func testSources(t *testing.T) string {
	t.Helper()
	var all strings.Builder
	err := filepath.WalkDir("..", func(path string, _ os.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		b, err := os.ReadFile(path)
		all.Write(b)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all.String()
}
