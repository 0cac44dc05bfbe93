// kafkajs behind the harness's line protocol (../README.md). Its consumer always joins a group, so reading without one goes
// one layer below it: its own cluster and broker objects, which look up leaders and offsets and fetch.
'use strict'

const readline = require('readline')
const path = require('path')

const modules = path.join(process.env.CONFORMANCE_NODE, 'node_modules')
const { Kafka, CompressionTypes, CompressionCodecs, logLevel } = require(path.join(modules, 'kafkajs'))
CompressionCodecs[CompressionTypes.Snappy] = require(path.join(modules, 'kafkajs-snappy'))

const WAIT_MS = 200
const MAX_BYTES = 10 * 1024 * 1024
const kafka = new Kafka({
  brokers: [process.argv[2]],
  logLevel: logLevel.NOTHING,
  connectionTimeout: 5000,
  requestTimeout: 10000,
  retry: { retries: 5 },
})
const newCluster = kafka[Object.getOwnPropertySymbols(kafka).find(s => s.description === 'private:Kafka:createCluster')]

const raw = text => (text === null ? null : Buffer.from(text, 'base64'))
const b64 = data => (data === null || data === undefined ? null : Buffer.from(data).toString('base64'))
const say = answer => process.stdout.write(JSON.stringify(answer) + '\n')

async function withAdmin(f) {
  const admin = kafka.admin()
  await admin.connect()
  try {
    return await f(admin)
  } finally {
    await admin.disconnect()
  }
}

async function withCluster(topic, f) {
  const cluster = newCluster.call(kafka, { metadataMaxAge: 300000, allowAutoTopicCreation: false, isolationLevel: 0 })
  await cluster.connect()
  try {
    await cluster.addTargetTopic(topic)
    return await f(cluster)
  } finally {
    await cluster.disconnect()
  }
}

async function offsetFor(cluster, topic, partition, start) {
  if (start.offset !== undefined) {
    return Number(start.offset)
  }
  const ask = { topic, partitions: [{ partition }] }
  if (start.timestamp !== undefined) {
    ask.fromTimestamp = start.timestamp
  } else {
    ask.fromBeginning = start.at === 'start'
  }
  const found = (await cluster.fetchTopicsOffset([ask]))[0].partitions[0].offset
  if (Number(found) === -1) {
    return offsetFor(cluster, topic, partition, { at: 'end' })
  }
  return Number(found)
}

function json(message) {
  const headers = []
  for (const [name, value] of Object.entries(message.headers || {})) {
    for (const v of Array.isArray(value) ? value : [value]) {
      headers.push([name, b64(v)])
    }
  }
  return {
    offset: Number(message.offset),
    timestamp: Number(message.timestamp),
    key: b64(message.key),
    value: b64(message.value),
    headers,
  }
}

async function fetchFrom(cluster, topic, partition, offset) {
  const leaders = cluster.findLeaderForPartitions(topic, [partition])
  const broker = await cluster.findBroker({ nodeId: Object.keys(leaders)[0] })
  const answer = await broker.fetch({
    replicaId: -1,
    isolationLevel: 0,
    maxWaitTime: WAIT_MS,
    maxBytes: MAX_BYTES,
    topics: [{ topic, partitions: [{ partition, fetchOffset: String(offset), maxBytes: MAX_BYTES }] }],
  })
  return answer.responses[0].partitions[0].messages.map(json).filter(m => m.offset >= offset)
}

// Members of groups by name: what they own, and what they have received since they were last asked.
const members = {}

async function join(q) {
  const consumer = kafka.consumer({
    groupId: q.group,
    sessionTimeout: 6000,
    heartbeatInterval: 200,
    metadataMaxAge: 1000,
    maxWaitTimeInMs: WAIT_MS,
  })
  const m = { consumer, assigned: [], records: [], next: {} }
  members[q.member] = m
  consumer.on(consumer.events.REBALANCING, () => {
    m.assigned = []
  })
  consumer.on(consumer.events.GROUP_JOIN, ({ payload }) => {
    m.assigned = Object.entries(payload.memberAssignment).flatMap(([topic, ps]) => ps.map(p => [topic, p]))
  })
  await consumer.connect()
  await consumer.subscribe({ topics: [q.topic], fromBeginning: true })
  await consumer.run({
    autoCommit: false,
    eachMessage: async ({ topic, partition, message }) => {
      m.records.push([topic, partition, Number(message.offset)])
      m.next[JSON.stringify([topic, partition])] = Number(message.offset) + 1
    },
  })
}

async function poll(q) {
  const m = members[q.member]
  const until = Date.now() + q.timeoutMs
  while (m.records.length === 0 && Date.now() < until) {
    await new Promise(resolve => setTimeout(resolve, 10))
  }
  return { records: m.records.splice(0), assigned: m.assigned }
}

async function commit(q) {
  const m = members[q.member]
  const offsets = m.assigned
    .filter(at => m.next[JSON.stringify(at)] !== undefined)
    .map(at => ({ topic: at[0], partition: at[1], offset: String(m.next[JSON.stringify(at)]), metadata: q.metadata || '' }))
  if (offsets.length > 0) {
    await m.consumer.commitOffsets(offsets)
  }
}

const groupOps = {
  join,
  poll,
  commit,
  committed: q =>
    withAdmin(async admin => {
      const [{ partitions }] = await admin.fetchOffsets({ groupId: q.group, topics: [q.topic] })
      const found = partitions.find(p => p.partition === q.partition)
      return { offset: Number(found.offset), metadata: found.metadata || '' }
    }),
  leave: async q => {
    await members[q.member].consumer.disconnect()
    delete members[q.member]
  },
  seek: async q => members[q.member].consumer.seek({ topic: q.topic, partition: q.partition, offset: String(q.offset) }),
  pause: async q => members[q.member].consumer.pause([{ topic: q.topic, partitions: [q.partition] }]),
  resume: async q => members[q.member].consumer.resume([{ topic: q.topic, partitions: [q.partition] }]),
}

const ops = {
  ...groupOps,

  hello: async () => ({
    codecs: ['none', 'gzip', 'snappy'],
    nullHeaders: false,
    repeatedHeaders: true,
    groupsHeaders: true,
    idempotent: true,
    maxTimestamp: false,
    static: false,
    pattern: false,
    protocols: [['classic', 'RoundRobinAssigner']],
  }),

  async produce(q) {
    const idempotent = q.acks === 'all' && q.idempotent !== false
    const producer = kafka.producer({ allowAutoTopicCreation: true, idempotent, maxInFlightRequests: idempotent ? 1 : 5 })
    await producer.connect()
    try {
      const messages = q.records.map(r => {
        const headers = {}
        for (const [name, value] of r.headers) {
          headers[name] = headers[name] === undefined ? raw(value) : [].concat(headers[name], raw(value))
        }
        const timestamp = r.timestamp ? String(r.timestamp) : undefined
        return { key: raw(r.key), value: raw(r.value), partition: r.partition, headers, timestamp }
      })
      const compression = { none: 0, gzip: 1, snappy: 2 }[q.codec]
      const done = await producer.send({ topic: q.topic, acks: q.acks === 'all' ? -1 : Number(q.acks), compression, messages })
      // One answer for each partition: the records of one partition follow each other from its base offset.
      const next = new Map((done || []).map(d => [d.partition, Number(d.baseOffset)]))
      return {
        offsets: q.records.map(r => {
          if (!next.has(r.partition)) {
            return -1
          }
          const offset = next.get(r.partition)
          next.set(r.partition, offset + 1)
          return offset
        }),
      }
    } finally {
      await producer.disconnect()
    }
  },

  consume: q =>
    withCluster(q.topic, async cluster => {
      let position = await offsetFor(cluster, q.topic, q.partition, q.from)
      say({ ready: position })
      const records = []
      const until = Date.now() + q.timeoutMs
      while (records.length < q.count && Date.now() < until) {
        const more = await fetchFrom(cluster, q.topic, q.partition, position)
        records.push(...more)
        if (more.length > 0) {
          position = more[more.length - 1].offset + 1
        }
      }
      return { records, position }
    }),

  offsets: q =>
    withAdmin(async admin => {
      if (typeof q.spec === 'number') {
        const found = (await admin.fetchTopicOffsetsByTimestamp(q.topic, q.spec)).find(p => p.partition === q.partition)
        return { offset: Number(found.offset), timestamp: q.spec }
      }
      const found = (await admin.fetchTopicOffsets(q.topic)).find(p => p.partition === q.partition)
      return { offset: Number(q.spec === 'earliest' ? found.low : found.high), timestamp: -1 }
    }),

  create: q =>
    withAdmin(async admin => {
      const configEntries = Object.entries(q.configs || {}).map(([name, value]) => ({ name, value }))
      const made = await admin.createTopics({ topics: [{ topic: q.topic, numPartitions: q.partitions, configEntries }] })
      if (!made) {
        throw new Error('topic exists')
      }
      return { partitions: q.partitions }
    }),

  delete: q => withAdmin(admin => admin.deleteTopics({ topics: [q.topic] })),

  topics: () => withAdmin(async admin => ({ topics: await admin.listTopics() })),

  describe: q =>
    withAdmin(async admin => {
      const { topics } = await admin.fetchTopicMetadata({ topics: [q.topic] })
      return { partitions: topics[0].partitions.length }
    }),
}

async function main() {
  for await (const line of readline.createInterface({ input: process.stdin })) {
    const q = JSON.parse(line)
    try {
      say((await ops[q.op](q)) || {})
    } catch (e) {
      say({ error: `${e.name}: ${e.message}` })
    }
  }
}

main()
