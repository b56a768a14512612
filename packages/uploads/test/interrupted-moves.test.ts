// What is left of a moveTo when the process dies at any point of it, and what the next process makes of that.

import assert from 'node:assert/strict'
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import fs, { rename } from 'node:fs/promises'
import { syncBuiltinESMExports } from 'node:module'
import { dirname, join } from 'node:path'
import { text } from 'node:stream/consumers'
import { type TestContext, test } from 'node:test'

import { temporaryDirectory } from '../../weirjs/test/support/temporary.ts'
import { type Uploading, uploading } from '../../weirjs/test/support/uploading.ts'
import { diskStorage, type Upload } from '../src/index.ts'
import { received } from './support/upload-record.ts'

const OPERATIONS = ['copyFile', 'link', 'open', 'rename', 'unlink'] as const
type OnComplete = (upload: Upload) => Promise<void>
type FileSystem = 'with links' | 'without links' | 'another'

/** Operations on files, which fail for good after some: as if the process had died. */
class Mortal {
  isDead = false
  fileSystem: FileSystem = 'with links'
  /** The operation after which it dies; 0.5 more: in the middle of the next one, which a copy alone has. */
  diesAfter = Number.POSITIVE_INFINITY
  done = 0

  constructor(t: TestContext) {
    const real = { ...fs }
    for (const name of OPERATIONS) {
      const operate = real[name] as (...args: unknown[]) => Promise<unknown>
      const mortal = async (...args: unknown[]): Promise<unknown> => {
        if (this.done >= this.diesAfter) this.isDead = true
        if (this.isDead) throw new Error('the process is dead')
        if (name === 'link' && this.fileSystem !== 'with links') {
          const isNear = dirname(String(args[0])) === dirname(String(args[1]))
          if (this.fileSystem === 'without links') throw Object.assign(new Error('no links'), { code: 'EPERM' })
          if (!isNear) throw Object.assign(new Error('another file system'), { code: 'EXDEV' })
        }
        if (name === 'copyFile' && this.done + 0.5 === this.diesAfter) {
          await real.writeFile(String(args[1]), 'bob')
          this.isDead = true
          throw new Error('the process is dead')
        }
        this.done++
        return operate(...args)
      }
      Object.assign(fs, { [name]: mortal })
    }
    syncBuiltinESMExports()
    t.after(() => {
      Object.assign(fs, real)
      syncBuiltinESMExports()
    })
  }

  revive(): void {
    this.isDead = false
    this.done = 0
    this.diesAfter = Number.POSITIVE_INFINITY
  }
}

/** Two processes with one directory. */
class Processes {
  readonly mortal: Mortal
  readonly directory: string
  readonly done: string
  readonly steps: { first: OnComplete; second: OnComplete } = { first: async () => {}, second: async () => {} }
  readonly first: Uploading
  readonly second: Uploading

  constructor(t: TestContext, mortal: Mortal) {
    this.mortal = mortal
    this.directory = temporaryDirectory(t)
    this.done = temporaryDirectory(t)
    const started = (name: 'first' | 'second') =>
      uploading(t, { storage: diskStorage(this.directory, { sync: false }), maxOpenUploads: 1e6 }, (upload) => this.steps[name](upload))
    this.first = started('first')
    this.second = started('second')
  }
}

/** Runs a moveTo of bob that dies, and then another process. @returns whether the first one died */
async function interrupted(
  { mortal, directory, done, first, second, steps }: Processes,
  { diesAfter, isTaken, then, from }: { diesAfter: number; isTaken: boolean; then: 'same' | 'other'; from: 'own' | 'elsewhere' },
): Promise<boolean> {
  const label = JSON.stringify([mortal.fileSystem, diesAfter, isTaken, then, from])
  for (const folder of [directory, done]) for (const name of readdirSync(folder)) rmSync(join(folder, name))
  second.received.length = 0
  const place = (name: string): string => join(done, name)
  if (isTaken) writeFileSync(place('cat.txt'), 'ann bytes')
  steps.first = async (upload) => {
    if (from === 'elsewhere') await upload.moveTo(place('first'))
    mortal.done = 0
    mortal.diesAfter = diesAfter
    await upload.moveTo(place('cat.txt'))
  }
  const url = await first.create(9)
  await first.tus('PATCH', url, { 'Upload-Offset': 0 }, 'bob bytes')
  const hasDied = mortal.isDead
  mortal.revive()

  let target = then === 'other' ? 'dog.txt' : 'cat.txt'
  steps.second = async (upload) => {
    if (then === 'other') return upload.moveTo(place('dog.txt'))
    await upload.moveTo(place('cat.txt')).catch((error: NodeJS.ErrnoException) => {
      assert.equal(error.code, 'EEXIST', label)
      assert.ok(isTaken || mortal.fileSystem === 'without links', label)
      target = 'dog.txt'
      return upload.moveTo(place('dog.txt'))
    })
  }
  assert.equal((await second.tus('HEAD', url)).status < 300, true, label)
  for (const { text: seen } of second.received) assert.equal(seen, 'bob bytes', label)
  const kept = Object.fromEntries(readdirSync(done).map((name) => [name, readFileSync(place(name), 'utf8')]))
  // Without links, an empty file takes the name first.
  if (mortal.fileSystem === 'without links' && kept['cat.txt'] === '') delete kept['cat.txt']
  if (hasDied) assert.deepEqual(kept, { ...(isTaken && { 'cat.txt': 'ann bytes' }), [target]: 'bob bytes' }, label)
  assert.deepEqual(
    readdirSync(directory).filter((name) => !name.endsWith('.tmp')), // sweep removes what was written of a record
    [`${url.split('/').at(-1)}.json`],
    label,
  )
  return hasDied
}

for (const fileSystem of ['with links', 'another', 'without links'] as const)
  test(`whenever the process dies in moveTo, the next one has the bytes, and no others: file system ${fileSystem}`, async (t) => {
    const mortal = new Mortal(t)
    mortal.fileSystem = fileSystem
    const processes = new Processes(t, mortal)
    for (const isTaken of [false, true])
      for (const then of ['same', 'other'] as const)
        for (const from of ['own', 'elsewhere'] as const) {
          let deaths = 0
          for (let after = 0; ; after += fileSystem === 'another' ? 0.5 : 1) {
            if (await interrupted(processes, { diesAfter: after, isTaken, then, from })) deaths++
            else if (Number.isInteger(after)) break
          }
          assert.ok(deaths >= 3, String(deaths))
        }
  })

test('a file of another upload is not taken for that of an interrupted move, whatever its size', async (t) => {
  const done = temporaryDirectory(t)
  const place = (name: string): string => join(done, name)
  const storage = diskStorage(temporaryDirectory(t), { sync: false })
  const [ann, bob] = [await received(storage, 'ann'), await received(storage, 'bob')]
  await storage.moveTo(ann, place('cat'))
  // The target, and what a record of an earlier version says before anything has moved.
  for (const record of [
    { ...bob, moving: place('cat') },
    { ...bob, keptAt: place('cat') },
  ]) {
    await storage.save(record)
    const found = (await storage.load(bob.id))!.record
    assert.equal(found.keptAt, null)
    assert.equal(await text(storage.read(found)), 'bob')
    await assert.rejects(storage.moveTo(found, place('cat')), { code: 'EEXIST' })
  }
  // The program has moved the file itself.
  await storage.save({ ...bob, moving: place('cat') })
  await rename(storage.locate(bob), place('first'))
  assert.equal(await storage.load(bob.id), null)
  // The place that was left is taken in the meantime.
  await storage.save({ ...bob, keptAt: place('first'), moving: place('dog') })
  await rename(place('first'), place('dog'))
  writeFileSync(place('first'), 'eve')
  assert.equal((await storage.load(bob.id))!.record.keptAt, place('dog'))
  assert.deepEqual(readdirSync(done).sort(), ['cat', 'dog', 'first'])
})
