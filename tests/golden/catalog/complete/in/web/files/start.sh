echo not looked at
