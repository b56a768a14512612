// Loaded before a program that the `weir` command has started. In any other process, such as one that the program itself starts, it does
// nothing.

import * as nodeModule from 'node:module'

import { ORDER_VARIABLE, type Order } from './messages.ts'

const text = process.env[ORDER_VARIABLE]
delete process.env[ORDER_VARIABLE]
if (text !== undefined && process.send !== undefined) {
  const order = JSON.parse(text) as Order
  // Node runs the program when this module has been evaluated: by then, the start of servers is replaced.
  if (order.task === 'answer') (await import('./answer.ts')).answerQuestion(order.file, order.question)
  else {
    if (order.compileCache !== null) keepCompiled(order.compileCache)
    await (await import('./serve.ts')).serveProgram(order)
  }
}

/**
 * From now on, loaded code is compiled once and not in each run. Node versions before 22.8 cannot do that; in later ones, the program may have
 * chosen the folder itself.
 */
function keepCompiled(folder: string): void {
  const { enableCompileCache } = nodeModule as { readonly enableCompileCache?: (folder: string) => unknown }
  if (process.env['NODE_COMPILE_CACHE'] === undefined) enableCompileCache?.(folder)
}
