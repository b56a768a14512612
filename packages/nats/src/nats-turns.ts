// Bounds what goes on in one turn of the event loop when NATS answers, is lost, or comes back for thousands at the same time.

import { FairQueue } from 'weirjs/kit'

const { take } = FairQueue.turns(128)

/** For a channel that begins again, and for a message that was confirmed or refused: when it may go on. */
export async function turn(): Promise<void> {
  await take('', 1)
}
