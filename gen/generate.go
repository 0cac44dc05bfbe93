// Package gen is the root of the generator. Its parts, in the order in which
// they work: spec reads the files of schemas, layout resolves them for each
// version, emit writes Go. The commands that run them are in cmd; oracle makes
// test vectors from Kafka's own classes.
package gen
