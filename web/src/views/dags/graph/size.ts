/** How large a node is: known to whoever draws it and to whoever finds its place. */

export const WIDTH = 190;
export const HEIGHT = 46;
