package main

import "testing"

func TestNormaliseKeepsFactsAndOrderOnly(t *testing.T) {
	t.Parallel()
	got, err := normalise([]byte(`// Licence text.
{
  "name": "Tiny", // why
  "apiKey": 3, "type": "request",
  "listeners": ["broker",
     "controller"],
  "validVersions": "0-1",
  "fields": [
    { "name": "A", "about": "What it is. // not a comment",
      "type": "int64", "versions": "0+", "default": 9223372036854775807 },
    { "name": "B", "type": "[]C", "versions": "0+", "about": "Others.", "fields": [
      { "name": "<D>", "type": "bool", "versions": "0+", "default": null, "ignorable": true } ] }
  ]
}
`))
	const want = `{
  "name": "Tiny",
  "apiKey": 3,
  "type": "request",
  "listeners": ["broker", "controller"],
  "validVersions": "0-1",
  "fields": [
    { "name": "A", "type": "int64", "versions": "0+", "default": 9223372036854775807 },
    {
      "name": "B",
      "type": "[]C",
      "versions": "0+",
      "fields": [
        { "name": "<D>", "type": "bool", "versions": "0+", "default": null, "ignorable": true }
      ]
    }
  ]
}
`
	if err != nil || string(got) != want {
		t.Errorf("got (%v)\n%s\nwant\n%s", err, got, want)
	}
}
