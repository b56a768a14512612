// S3-compatible servers for tests: a process of `fauxqs`, and in front of it what only real S3 has, with faults on demand.

import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import type { Socket } from 'node:net'
import { createInterface } from 'node:readline'
import type { TestContext } from 'node:test'
import { pathToFileURL } from 'node:url'

import {
  CreateBucketCommand,
  DeleteBucketCommand,
  GetObjectCommand,
  ListMultipartUploadsCommand,
  ListObjectsV2Command,
  S3Client,
} from '@aws-sdk/client-s3'
import { S3Front } from './s3-front.ts'

const SERVER = 'test/uploads/node_modules/fauxqs/dist/app.js'

/** Why tests with S3 cannot run here, or false. */
export const noS3: string | false = existsSync(SERVER)
  ? false
  : 'run npm ci --prefix test/uploads to run the tests with an S3-compatible server'

export interface S3Server {
  readonly bucket: string
  /** Where clients connect. */
  readonly endpoint: string
  readonly client: S3Client
  /** What stands between clients and the server: to cause faults, and to see requests. */
  readonly front: S3Front
  /** Another client. */
  connect(options?: { readonly maxAttempts?: number }): S3Client
  keys(): Promise<readonly string[]>
  /** Identifiers of the multipart uploads that have been neither completed nor aborted. */
  unfinished(): Promise<readonly string[]>
  bytes(key: string): Promise<Buffer>
  /** Whether the server itself deletes the bucket, which it refuses while there is an object or an unfinished upload in it. */
  isEmpty(): Promise<boolean>
  /** Ends it as a crash would, with all that it has. */
  kill(): Promise<void>
}

/** A server's process, which ends with this one. */
export interface Launched {
  readonly child: ChildProcess
  readonly port: number
}

/** The server that the tests of this process share. */
let shared: Promise<Launched> | null = null
let buckets = 0

/** An empty bucket of a server on 127.0.0.1. @param isOwn whether the server is this test's own, and may be killed */
export async function startS3(t: TestContext, isOwn = false): Promise<S3Server> {
  if (!isOwn) shared ??= launchS3()
  const { child, port } = await (isOwn ? launchS3() : shared!)
  const bucket = `uploads-${++buckets}`
  const front = await S3Front.start(port)
  const endpoint = `http://127.0.0.1:${front.port}`
  const clients: S3Client[] = []
  const connect = ({ maxAttempts = 3 } = {}): S3Client => {
    const client = clientOf(endpoint, maxAttempts)
    clients.push(client)
    return client
  }
  const kill = async (): Promise<void> => {
    if (child.exitCode !== null || child.signalCode !== null) return
    const gone = once(child, 'exit')
    child.ref()
    child.kill('SIGKILL')
    await gone
  }
  t.after(async () => {
    for (const client of clients) client.destroy()
    await front.stop()
    if (isOwn) await kill()
  })
  const client = connect()
  await client.send(new CreateBucketCommand({ Bucket: bucket }))
  return {
    bucket,
    endpoint,
    client,
    front,
    connect,
    kill,
    async keys() {
      const { Contents = [] } = await client.send(new ListObjectsV2Command({ Bucket: bucket }))
      return Contents.map(({ Key }) => Key!)
    },
    async unfinished() {
      const { Uploads = [] } = await client.send(new ListMultipartUploadsCommand({ Bucket: bucket }))
      return Uploads.map(({ UploadId }) => UploadId!)
    },
    async bytes(key) {
      const { Body } = await client.send(new GetObjectCommand({ Bucket: bucket, Key: key }))
      return Buffer.from(await Body!.transformToByteArray())
    },
    async isEmpty() {
      try {
        await client.send(new DeleteBucketCommand({ Bucket: bucket }))
      } catch (error) {
        if ((error as Error).name === 'BucketNotEmpty') return false
        throw error
      }
      await client.send(new CreateBucketCommand({ Bucket: bucket }))
      return true
    },
  }
}

/** A client for the server at `endpoint`. */
export function clientOf(endpoint: string, maxAttempts = 3): S3Client {
  return new S3Client({
    endpoint,
    region: 'us-east-1',
    forcePathStyle: true,
    maxAttempts,
    credentials: { accessKeyId: 'test', secretAccessKey: 'test' },
  })
}

/** Prints its port, and ends with the process that started it. */
const PROGRAM = `
  const { startFauxqs } = await import(process.argv[1])
  const server = await startFauxqs({ port: 0, logger: false })
  console.log(server.port)
  process.stdin.resume().on('end', () => process.exit())
`

/** Starts a server without anything in front of it. */
export async function launchS3(): Promise<Launched> {
  const args = ['--input-type=module', '-e', PROGRAM, pathToFileURL(SERVER).href]
  const child = spawn(process.execPath, args, { stdio: ['pipe', 'pipe', 'inherit'] })
  for await (const line of createInterface({ input: child.stdout! })) {
    // It ends with this process, and does not keep it alive.
    child.unref()
    for (const stream of [child.stdin!, child.stdout!] as Partial<Socket>[]) stream.unref?.()
    return { child, port: Number(line) }
  }
  throw new Error('the S3 server did not start')
}
