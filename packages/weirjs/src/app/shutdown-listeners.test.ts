import assert from 'node:assert/strict'
import { test } from 'node:test'

import { addShutdownListener, onStop, removeShutdownListener } from './shutdown-listeners.ts'

test('each listener is told once, unless it was removed', () => {
  const stop = new AbortController()
  const told: string[] = []
  const listener = (name: string) => ({ stop: () => void told.push(name) })
  const gone = listener('gone')
  addShutdownListener(stop.signal, listener('a'))
  addShutdownListener(stop.signal, gone)
  const end = onStop(stop.signal, () => told.push('ended'))
  onStop(stop.signal, () => told.push('b'))
  removeShutdownListener(stop.signal, gone)
  end()
  stop.abort()
  assert.deepEqual(told, ['a', 'b'])
})

test('what begins while the server stops is told at once', () => {
  const told: string[] = []
  onStop(AbortSignal.abort(), () => told.push('late'))()
  assert.deepEqual(told, ['late'])
})
