export const text = 'first'
