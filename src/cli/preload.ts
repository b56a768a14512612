// Loaded before a program that the `weir` command has started. In any other process, such as one that the program itself starts, it does
// nothing.

import { ORDER_VARIABLE, type Order } from './messages.ts'

const text = process.env[ORDER_VARIABLE]
delete process.env[ORDER_VARIABLE]
if (text !== undefined && process.send !== undefined) {
  const order = JSON.parse(text) as Order
  // Node runs the program when this module has been evaluated: by then, the start of servers is replaced.
  if (order.task === 'answer') (await import('./answer.ts')).answerQuestion(order.file, order.question)
  else await (await import('./serve.ts')).serveProgram(order)
}
