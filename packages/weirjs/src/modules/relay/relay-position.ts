// Where a subscription stands that has heard nothing.

/** The id of no message: everything that its channel has kept comes after it. Ids of Redis and NATS begin with a digit. */
export const BEFORE_FIRST = 'first'
