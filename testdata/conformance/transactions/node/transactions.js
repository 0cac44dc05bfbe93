// Transactions with kafkajs behind the line protocol of ../README.md.
'use strict'

const readline = require('readline')
const path = require('path')

const { Kafka, logLevel } = require(path.join(process.env.CONFORMANCE_NODE, 'node_modules', 'kafkajs'))

const SECONDS = 40
const kafka = new Kafka({
  brokers: [process.argv[2]],
  logLevel: logLevel.NOTHING,
  connectionTimeout: 5000,
  requestTimeout: 10000,
  retry: { retries: 5 },
})
const say = answer => process.stdout.write(JSON.stringify(answer) + '\n')
const pause = ms => new Promise(resolve => setTimeout(resolve, ms))
const producers = {}
const ready = {}
const open = {}

async function withAdmin(f) {
  const admin = kafka.admin()
  await admin.connect()
  try {
    return await f(admin)
  } finally {
    await admin.disconnect()
  }
}

// It asks for its place as the only producer of its id when its first transaction begins; here that is when it is made.
async function make(q) {
  const p = kafka.producer({
    idempotent: true,
    maxInFlightRequests: 1,
    transactionalId: q.transactionalId,
    transactionTimeout: q.timeoutMs || 60000,
  })
  await p.connect()
  return { p, first: q.transactionalId && (await p.transaction()) }
}

// Its consumer always is a member of a group: each read has one of its own.
async function read(q) {
  const consumer = kafka.consumer({
    groupId: `reader-${process.pid}-${Math.random()}`,
    readUncommitted: q.isolation === 'read_uncommitted',
    maxWaitTimeInMs: 200,
  })
  const values = []
  let joined = false
  consumer.on(consumer.events.GROUP_JOIN, () => {
    joined = true
  })
  await consumer.connect()
  try {
    await consumer.subscribe({ topics: [q.topic], fromBeginning: true })
    await consumer.run({
      autoCommit: false,
      eachMessage: async ({ partition, message }) => {
        if (partition === q.partition) {
          values.push(message.value.toString())
        }
      },
    })
    const until = Date.now() + SECONDS * 1000
    while ((!joined || values.length < q.count) && Date.now() < until) {
      await pause(10)
    }
    for (let known = -1; known < values.length; ) {
      known = values.length
      await pause(q.graceMs)
    }
    return { values }
  } finally {
    await consumer.disconnect()
  }
}

async function copy(q) {
  const consumer = kafka.consumer({
    groupId: q.group,
    readUncommitted: false,
    sessionTimeout: 6000,
    heartbeatInterval: 500,
    maxWaitTimeInMs: 200,
  })
  let { p, first: transaction } = await make(q)
  let left = q.count
  let n = 1
  let failed = null
  // Batches hold what one partition has; they are copied in pieces.
  const piece = async (partition, messages) => {
    const first = messages[0].offset
    transaction = transaction || (await p.transaction())
    await transaction.send({ topic: q.to, messages: messages.map(m => ({ key: m.key, value: m.value, partition })) })
    const offset = String(Number(messages[messages.length - 1].offset) + 1)
    await transaction.sendOffsets({
      consumerGroupId: q.group,
      topics: [{ topic: q.from, partitions: [{ partition, offset }] }],
    })
    if (n === q.crashAt) {
      process.exit(9)
    }
    await pause(q.paceMs || 0)
    const ending = transaction
    transaction = null
    if (n++ % q.abortEvery === 0) {
      await ending.abort()
      consumer.seek({ topic: q.from, partition, offset: first })
      return false
    }
    await ending.commit()
    left -= messages.length
    return true
  }
  await consumer.connect()
  try {
    await consumer.subscribe({ topics: [q.from], fromBeginning: true })
    await consumer.run({
      autoCommit: false,
      eachBatchAutoResolve: false,
      eachBatch: async ({ batch, resolveOffset, isStale }) => {
        try {
          for (let i = 0; i < batch.messages.length && !isStale(); i += q.size) {
            const messages = batch.messages.slice(i, i + q.size)
            if (!(await piece(batch.partition, messages))) {
              return
            }
            resolveOffset(messages[messages.length - 1].offset)
          }
        } catch (e) {
          failed = failed || e
          throw e
        }
      },
    })
    const until = Date.now() + SECONDS * 1000
    while (left > 0) {
      await pause(10)
      if (failed) {
        throw failed
      }
      if (Date.now() > until) {
        throw new Error(`${left} records left when the time was over`)
      }
    }
  } finally {
    await consumer.disconnect()
    await p.disconnect()
  }
}

const ops = {
  hello: async () => ({ protocols: ['classic'] }),
  create: q =>
    withAdmin(admin => admin.createTopics({ topics: [{ topic: q.topic, numPartitions: q.partitions }] })).then(made => {
      if (!made) {
        throw new Error('topic exists')
      }
    }),
  open: async q => {
    const { p, first } = await make(q)
    producers[q.producer] = p
    ready[q.producer] = first
  },
  begin: async q => {
    open[q.producer] = ready[q.producer] || (await producers[q.producer].transaction())
    delete ready[q.producer]
  },
  send: async q => {
    const messages = q.values.map(value => ({ key: 'k', value, partition: q.partition }))
    await (open[q.producer] || producers[q.producer]).send({ topic: q.topic, messages })
  },
  commit: async q => {
    const transaction = open[q.producer]
    delete open[q.producer]
    await transaction.commit()
  },
  abort: async q => {
    const transaction = open[q.producer]
    delete open[q.producer]
    await transaction.abort()
  },
  close: async q => {
    await producers[q.producer].disconnect()
    delete producers[q.producer]
  },
  read,
  committed: q =>
    withAdmin(async admin => {
      const [{ partitions }] = await admin.fetchOffsets({ groupId: q.group, topics: [q.topic] })
      return { offset: Number(partitions.find(p => p.partition === q.partition).offset) }
    }),
  copy,
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
  // Whatever is left open is to be ended by the broker.
  process.exit(0)
}

main()
