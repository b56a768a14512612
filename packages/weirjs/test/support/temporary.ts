// Directories that exist as long as a test.

import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestContext } from 'node:test'

/** An empty directory, removed when the test ends. */
export function temporaryDirectory(t: TestContext): string {
  const directory = mkdtempSync(join(tmpdir(), 'weir-test-'))
  // What the test has started may still write a last file. The variant that blocks would not look for it again.
  t.after(() => rm(directory, { recursive: true, force: true, maxRetries: 5 }))
  return directory
}

/** An empty directory on a separate disk of this many KiB; null if this process may not mount disks. */
export function smallDisk(t: TestContext, kib: number): string | null {
  if (process.platform !== 'linux' || process.getuid?.() !== 0) return null
  const directory = mkdtempSync(join(tmpdir(), 'weir-test-disk-'))
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${kib}k`, 'tmpfs', directory], { stdio: 'pipe' })
  } catch {
    rmSync(directory, { recursive: true })
    return null // root in a container that may not mount
  }
  t.after(() => {
    execFileSync('umount', ['--lazy', directory])
    rmSync(directory, { recursive: true })
  })
  return directory
}
